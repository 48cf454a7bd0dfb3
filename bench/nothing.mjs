/** What `import-time.mjs` imports first: whatever an import of nothing has to wait for is not the package's. */
globalThis.nothing = true;
