/**
 * How long the import of a package takes in this fresh process beyond ioredis, in ms. `node bench/import-time.mjs SPECIFIER`
 *
 * Whichever file is imported first after ioredis waits some 10 ms for work that ioredis left, even if the file is empty. So an
 * empty one comes first.
 */
await import('ioredis');
await import('./nothing.mjs');
const startMs = performance.now();
await import(process.argv[2]);
console.log(performance.now() - startMs);
