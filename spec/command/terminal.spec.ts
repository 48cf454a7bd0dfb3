/** `quorate run` on a terminal, which `script` makes. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { needs } from '../support/parts.js';
import { EVERY_MASTER } from '../support/patience.js';
import { eventually } from '../support/real.js';
import { program, Running } from './support/program.js';

const NODES = 3;
/** With a trap: a signal between `vfork` and `exec` is swallowed by the child of some shells, and forgotten by them. */
const READER = 'trap "exit 130" INT; read line; echo "got $line"; while :; do sleep 0.05; done';

describe(`quorate run on a terminal: N=${NODES}, real masters`, () => {
  let masters: Masters;
  let redlock: Redlock;
  let env: Readonly<Record<string, string>>;
  before(async () => {
    program();
    masters = await startMasters(NODES, { backend: 'process' });
    redlock = Redlock.connect(masters.urls, { label: 'api-3' });
    await redlock.ready(EVERY_MASTER);
    env = { QUORATE_NODES: masters.urls.join(',') };
  });
  after(async () => {
    await redlock.close();
    await masters.stop();
  });

  it('while it waits, it says who holds the lock and how many are before, and when that changes; piped, nothing', async function () {
    needs(this, 'script');
    const lease = await redlock.acquire('busy', { renew: true });
    const leaving = new AbortController();
    const other = Redlock.connect(masters.urls);
    const first = other.acquire('busy', { waitMs: Infinity, signal: leaving.signal }).catch(() => undefined);
    await eventually(async () => (await redlock.inspect('busy')).waiting === 1);
    const { holder } = await redlock.inspect('busy');

    const command = `${process.execPath} ${program()} run --wait forever busy -- echo got it`;
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const gone = once(child, 'exit');
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    const held = `quorate: waiting for busy: held by api-3 (${holder}), for another `;
    let piped: Running | undefined;
    try {
      await eventually(() => out.includes(held) && out.includes('; 1 waits before this one'));
      piped = new Running(['run', '--wait', 'forever', 'busy', '--', 'true'], { env });
      await eventually(async () => (await redlock.inspect('busy')).waiting === 3);
      leaving.abort();
      await first;
      await eventually(() => out.includes('; this one is next'));
      await lease.release();
      await gone;
      expect(out).to.contain('got it');
      expect(out.split(held), 'one line for each place').to.have.length(3);
      expect([await piped.ends(), piped.complaints]).to.deep.equal([0, '']);
    } finally {
      leaving.abort();
      child.kill('SIGKILL');
      piped?.process.kill('SIGKILL');
      await lease.release();
      await other.close();
    }
  });

  it('the command reads what is typed, and Ctrl-C reaches it', async function () {
    needs(this, 'script');
    const command = `${process.execPath} ${program()} run t -- sh -c '${READER}'`;
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    await eventually(async () => (await redlock.inspect('t')).state === 'held');
    child.stdin.write('typed\n');
    await eventually(() => out.includes('got typed'));
    child.stdin.write('\u0003');
    await eventually(async () => (await redlock.inspect('t')).state === 'free');
    const gone = once(child, 'exit');
    child.kill('SIGKILL'); // it may stop reading its terminal at Ctrl-C, and then nobody there can end
    await gone;
  });
});
