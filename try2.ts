import { simulate } from './lib/testing/simulation.js';
const [seed, from, to, pat] = [Number(process.argv[2]), Number(process.argv[3]), Number(process.argv[4]), process.argv[5] ?? '.'];
const r = await simulate(seed, { family: true, history: true });
for (const l of r.lines) if (l.atMs >= from && l.atMs <= to && new RegExp(pat).test(l.who + l.what)) console.log(l.atMs.toFixed(1), l.who, l.what.slice(0, 260));
