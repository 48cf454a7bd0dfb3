/** How long the import of a package takes in this fresh process beyond ioredis, in ms. `node bench/import-time.mjs SPECIFIER` */
await import('ioredis');
const startMs = performance.now();
await import(process.argv[2]);
console.log(performance.now() - startMs);
