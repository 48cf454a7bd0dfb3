export const ROOT: string;
export const PROGRAMS: string;
export function digestOf(files: readonly string[]): string;
