/**
 * How long the import of a package takes in this fresh process beyond ioredis, in ms. `node bench/import-time.mjs SPECIFIER`
 *
 * The first file that is imported after ioredis waits for what that left to be done, some 10 ms, even if nothing is in it.
 */
await import('ioredis');
await import('./nothing.mjs');
const startMs = performance.now();
await import(process.argv[2]);
console.log(performance.now() - startMs);
