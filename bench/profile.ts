/**
 * Where the time goes: a CPU profile of one contender under one load, by who spends it. For docs/BENCHMARKS.md.
 *
 *   node --import tsx bench/profile.ts CONTENDER N IN_FLIGHT     pairs, so many at a time, on N masters
 *   node --import tsx bench/profile.ts CONTENDER N renewal       10,000 leases with a ttl of 10 s
 *   node --import tsx bench/profile.ts CONTENDER N steps         one pair after another: how long each part of it takes
 *
 * `redis` as a fourth argument: by node-redis.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startMasters } from '../scripts/masters.js';
import { DEFAULT_CLIENT } from './contenders/connection.js';
import { compileWorker } from './crew.js';

const [name = 'quorate', nodes = '5', load = '64', client = DEFAULT_CLIENT] = process.argv.slice(2);
const file = await compileWorker('profile');
await using masters = await startMasters(Number(nodes));
const child = spawn(process.execPath, [file, name, masters.urls.join(), load, client], { stdio: 'inherit' });
const [code] = (await once(child, 'exit')) as [number | null];
process.exitCode = code ?? 1;
