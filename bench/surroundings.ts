/** Where a measurement was made. */
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { cpus, loadavg, totalmem, type } from 'node:os';
import { type ClientName, DEFAULT_CLIENT } from './contenders/connection.js';
import { find } from '../scripts/parts.cjs';

const require = createRequire(import.meta.url);

/** @param client  by which masters are reached */
export function describeSurroundings(client: ClientName = DEFAULT_CLIENT): Record<string, string> {
  const { version } = require(`${client}/package.json`) as { version: string };
  const cores = cpus();
  return {
    CPU: `${cores.length} × ${cores[0]?.model.trim() ?? 'unknown'}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    OS: type(),
    Node: process.version,
    client: `${client} ${version}`,
    server: ask(find('redis-server') ?? 'redis-server', ['--version']).replace(/^.*?v=(\S+).*$/, '$1'),
    commit: ask('git', ['rev-parse', '--short', 'HEAD']),
    date: new Date().toISOString().slice(0, 10),
    'load before': (loadavg()[0] ?? 0).toFixed(1),
  };
}

function ask(command: string, args: readonly string[]): string {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'unknown';
  }
}
