/** Where a measurement was made. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, totalmem, type } from 'node:os';
import { type ClientName, DEFAULT_CLIENT } from './contenders/connection.js';
import { find } from '../scripts/parts.cjs';

/** @param client  by which masters are reached */
export function describeSurroundings(client: ClientName = DEFAULT_CLIENT): Record<string, string> {
  const file = new URL(`../node_modules/${client}/package.json`, import.meta.url); // not all export it
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
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
