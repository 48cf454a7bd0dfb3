export const ROOT: string;
export const LINKED: string;
export const PROGRAMS: string;
export function madeOf(place: string): {
  readonly digest: string | undefined;
  readonly files: readonly string[];
};
export function areFresh(): boolean;
export function digestOf(files: readonly string[]): string;
