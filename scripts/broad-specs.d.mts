/** Files or folders, and why `npm test` can do without. */
export const BROAD_SPECS: Readonly<Record<string, string>>;
