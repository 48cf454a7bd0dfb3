/** The command beside node-redis without ioredis: each part of it that talks to masters. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '../masters/wait.js';

/** Where the package is installed, and how `check-package.mjs` runs a program there. */
interface Place {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** The client beside it. */
  readonly client: string;
  /** Returns what the program printed. @throws Error if it fails */
  run(what: string | undefined, program: string, args: readonly string[], options: object): string;
}

/** @throws Error */
export async function checkCommand(place: Place, urls: readonly string[]): Promise<void> {
  const program = join(place.folder, 'node_modules/.bin/quorate');
  const nodes = `QUORATE_NODES=${urls.join(',')}`; // a command does not inherit it: it may have passwords
  const env = { ...place.env, QUORATE_NODES: urls.join(',') };
  const options = { cwd: place.folder, env, timeout: 60_000 };
  const command = (...args: readonly string[]): string => place.run(undefined, program, args, options);
  const status = [program, 'status', '--names', 'pack*', '--json'];
  const seen = command('run', 'package', '--', 'env', nodes, ...status);
  if (!/"resource":\s*"package",\s*"state":\s*"held"/.test(seen))
    throw new Error(`quorate status said ${seen}`);
  const freed = command('unlock', 'package', '--force', '--json');
  if (!/"silent":\s*0/.test(freed)) throw new Error(`quorate unlock said ${freed}`);
  const rates = command('bench', '--seconds', '1', '--json');
  if (!/"perSecond":\s*[1-9]/.test(rates)) throw new Error(`quorate bench said ${rates}`);
  await checkUp(program, options);
  place.run(`quorate run, status, unlock, bench, up, ${place.client}`, program, ['status'], options);
}

/** Prints the masters when they answer; ends, with them, by an interrupt. */
async function checkUp(program: string, options: object): Promise<void> {
  const child = spawn(program, ['up', '1', '--port', String(await freePort())], options);
  const exit = once(child, 'exit');
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes('Ctrl-C')) child.kill('SIGINT');
    });
  const [status, signal] = (await exit) as [number | null, string | null];
  if (status !== 0) throw new Error(`quorate up ended with ${status ?? signal}, and said ${said}`);
}
