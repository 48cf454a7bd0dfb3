import { simulate } from './lib/testing/simulation.js';
const [from, to, opts] = [Number(process.argv[2]), Number(process.argv[3]), JSON.parse(process.argv[4] ?? '{}')];
const t0 = performance.now(); let bad = 0; const kinds: Record<string, number> = {}; const errors: Record<string, number> = {};
let grants = 0, n = 0;
for (let seed = from; seed <= to; seed++) {
  const r = await simulate(seed, { family: true, ...opts });
  n++; grants += r.deeds.grants;
  for (const [k, v] of Object.entries(r.errors)) errors[k] = (errors[k] ?? 0) + (v ?? 0);
  if (r.violations.length > 0) {
    bad++;
    for (const v of r.violations) kinds[v.property] = (kinds[v.property] ?? 0) + 1;
    if (bad <= 12) console.log(seed, 'N', r.nodes, 'guard', r.guardMs, r.violations.slice(0, 2).map((v) => `${v.atMs.toFixed(0)} ${v.property}: ${v.text.slice(0, 400)}`).join('\n     '));
  }
  if (performance.now() - t0 > Number(process.argv[5] ?? 60_000)) break;
}
console.log({ n, bad, kinds, errors, grants, s: ((performance.now() - t0) / 1000).toFixed(0) });
