/** `npm run simulate`, with the scripts compiled as they are now: a change to their Lua needs no other step. */
await import('../../scripts/lua/ensure.mjs');
await import('./command/simulate.js');
