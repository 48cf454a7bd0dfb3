/**
 * Where the time goes: a CPU profile of one contender under one load, by who spends it. For docs/BENCHMARKS.md.
 *
 *   node --import tsx bench/profile.ts CONTENDER N IN_FLIGHT     pairs, so many at a time, on N masters
 *   node --import tsx bench/profile.ts CONTENDER N renewal       10,000 leases with a ttl of 10 s
 *   node --import tsx bench/profile.ts CONTENDER N steps         one pair after another: how long each part of it takes
 */
import { spawn } from 'node:child_process';
import { compileWorker } from './crew.js';

const file = await compileWorker('profile');
const child = spawn(process.execPath, [file, ...process.argv.slice(2)], { stdio: 'inherit' });
child.on('exit', (code) => process.exit(code ?? 1));
