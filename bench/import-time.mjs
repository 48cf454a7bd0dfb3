/**
 * How long the import of a package takes in this fresh process beyond a client, in ms.
 * `node bench/import-time.mjs SPECIFIER [CLIENT]`, by default ioredis.
 *
 * Whichever file is imported first after ioredis waits some 10 ms for work that ioredis left, even if the file is empty. So an
 * empty one comes first.
 */
const [specifier, client = 'ioredis'] = process.argv.slice(2);
await import(client);
await import('./nothing.mjs');
const startMs = performance.now();
await import(specifier);
console.log(performance.now() - startMs);
