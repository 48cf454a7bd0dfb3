/** What `import-time.mjs` imports first. */
export const nothing = undefined;
