export declare const ENTRIES: Readonly<Record<string, string>>;
export declare function exportsMap(): object;
