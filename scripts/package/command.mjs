/** The command beside node-redis without ioredis: each part of it that talks to masters. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';

/** @param run  of `check-package.mjs` @throws Error */
export async function checkCommand({ folder, env, what, run }, urls) {
  const program = join(folder, 'node_modules/.bin/quorate');
  const nodes = `QUORATE_NODES=${urls.join(',')}`; // a command does not inherit it: it may have passwords
  const options = { cwd: folder, env: { ...env, QUORATE_NODES: urls.join(',') }, timeout: 60_000 };
  const command = (...args) => run(undefined, program, args, options);
  const seen = command('run', 'package', '--', 'env', nodes, program, 'status', '--names', 'pack*', '--json');
  const [lock] = JSON.parse(seen);
  if (lock?.resource !== 'package' || lock.state !== 'held') throw new Error(`quorate status said ${seen}`);
  const freed = command('unlock', 'package', '--force', '--json');
  if (JSON.parse(freed).silent !== 0) throw new Error(`quorate unlock said ${freed}`);
  const rates = command('bench', '--seconds', '1', '--json');
  if (!JSON.parse(rates).every(({ perSecond }) => perSecond > 0))
    throw new Error(`quorate bench said ${rates}`);
  await checkUp(program, options);
  run(`quorate run, status, unlock, bench, up, ${what}`, program, ['status'], options);
}

/** Prints the masters when they answer; ends, with them, by an interrupt. */
async function checkUp(program, options) {
  const child = spawn(program, ['up', '1', '--port', String(await freePort())], {
    ...options,
    stdio: 'pipe',
  });
  const exit = once(child, 'exit');
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text;
      if (said.includes('Ctrl-C')) child.kill('SIGINT');
    });
  const [status, signal] = await exit;
  if (status !== 0) throw new Error(`quorate up ended with ${status ?? signal}, and said ${said}`);
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}
