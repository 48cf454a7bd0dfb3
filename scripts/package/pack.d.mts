export declare const strangersEnv: NodeJS.ProcessEnv;
export declare function pack(tree: string, folder: string): string;
