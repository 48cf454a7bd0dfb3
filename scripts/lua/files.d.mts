export const ROOT: string;
export const PROGRAMS: string;
export function madeOf(): { readonly digest: string | undefined; readonly files: readonly string[] };
export function digestOf(files: readonly string[]): string;
