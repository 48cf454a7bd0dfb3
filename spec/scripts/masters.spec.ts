import { expect } from 'chai';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { startMasters, type Master, type Masters } from '../../scripts/masters.js';
import { ask, until } from '../../scripts/masters/wait.js';
import { needs } from '../support/parts.js';

const backend = 'process';
const ASK_MS = 60_000;
/** Long enough for a reply of a server that runs, short enough to be silent for. */
const SILENT_MS = 100;

async function failure(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'no failure',
    (error: unknown) => String(error),
  );
}

function only(masters: Masters): Master {
  const [master] = masters.list;
  if (master === undefined) throw new Error('no master');
  return master;
}

async function folderOf(master: Master): Promise<string> {
  return /\r\n(\/.*)\r\n/.exec(await ask(master.port, 'CONFIG GET dir', ASK_MS))?.[1] ?? 'none';
}

describe('startMasters, as processes', () => {
  before(function () {
    needs(this, 'redis-server'); // the containers suite shows what `compose` does
  });

  it('N=5: five servers that answer, each on a port of its own', async () => {
    await using masters = await startMasters(5, { backend });
    expect(masters.backend).to.equal('process');
    expect(new Set(masters.urls).size).to.equal(5);
    expect(masters.list.map((master) => master.name)).to.deep.equal([1, 2, 3, 4, 5].map((i) => `redis-${i}`));
    const replies = await Promise.all(masters.list.map((master) => ask(master.port, 'PING', ASK_MS)));
    expect(replies).to.deep.equal(Array(5).fill('+PONG\r\n'));
  });

  it('is a process by default when a server is on the PATH', async () => {
    await using masters = await startMasters(1);
    expect(masters.backend).to.equal('process');
  });

  for (const count of [0, -1, 1.5, Number.NaN]) {
    it(`refuses ${count} masters`, async () => {
      expect(await failure(startMasters(count, { backend }))).to.match(/RangeError: count must be/);
    });
  }

  it('a killed master refuses connections, and comes back empty on the same port', async () => {
    await using masters = await startMasters(1, { backend });
    const master = only(masters);
    const { url } = master;
    await ask(master.port, 'SET key 1', ASK_MS);
    await master.kill();
    expect(await failure(ask(master.port, 'PING', ASK_MS))).to.contain('ECONNREFUSED');
    await master.restart();
    expect(await ask(master.port, 'GET key', ASK_MS)).to.equal('$-1\r\n');
    expect(master.url).to.equal(url);
  });

  it('persist: the data survives kill and restart, unless it is to be empty', async () => {
    await using masters = await startMasters(1, { backend, persist: true });
    const master = only(masters);
    await ask(master.port, 'SET key 1', ASK_MS);
    await master.kill();
    await master.restart();
    expect(await ask(master.port, 'GET key', ASK_MS)).to.equal('$1\r\n1\r\n');
    await master.kill();
    await master.restart({ empty: true });
    expect(await ask(master.port, 'GET key', ASK_MS)).to.equal('$-1\r\n');
  });

  it('persist: a stale restart goes back to the checkpoint, each time', async () => {
    await using masters = await startMasters(1, { backend, persist: true });
    const master = only(masters);
    await ask(master.port, 'SET key 1', ASK_MS);
    await master.checkpoint();
    for (const later of ['2', '3']) {
      await ask(master.port, `SET key ${later}`, ASK_MS);
      await master.kill();
      await master.restart({ stale: true });
      expect(await ask(master.port, 'GET key', ASK_MS)).to.equal('$1\r\n1\r\n');
    }
    await ask(master.port, 'SET key 4', ASK_MS);
    await master.checkpoint();
    await master.kill();
    await master.restart({ stale: true });
    expect(await ask(master.port, 'GET key', ASK_MS)).to.equal('$1\r\n4\r\n');
  });

  it('a stale restart without a checkpoint is refused, and the master can still be restarted', async () => {
    await using masters = await startMasters(1, { backend });
    const master = only(masters);
    await master.kill();
    expect(await failure(master.restart({ stale: true }))).to.contain('no checkpoint to go back to');
    await master.restart();
    await master.checkpoint();
    const folder = await folderOf(master);
    await master.stop();
    expect([existsSync(folder), existsSync(`${folder}.checkpoint`)]).to.deep.equal([false, false]);
    expect(await failure(master.checkpoint())).to.contain('stopped for good');
  });

  it('a frozen master is silent, and runs after the thaw what reached it meanwhile', async () => {
    await using masters = await startMasters(1, { backend });
    const master = only(masters);
    await master.freeze();
    expect(await failure(ask(master.port, 'PING', SILENT_MS))).to.contain('no answer');
    const late = ask(master.port, 'INCR key', ASK_MS);
    await master.thaw();
    expect(await late).to.equal(':1\r\n');
  });

  it('a frozen master can be killed, and one that is dead stays so until its restart', async () => {
    await using masters = await startMasters(1, { backend });
    const master = only(masters);
    await master.freeze();
    await master.kill();
    await master.kill();
    expect(await failure(master.freeze())).to.contain('it does not run');
    expect(await failure(master.thaw())).to.contain('it does not run');
    await master.restart();
    expect(await failure(master.restart())).to.contain('kill it before');
  });

  it('stop: the server and its folder are gone; twice is fine; no restart after it', async () => {
    const masters = await startMasters(2, { backend });
    const [first, second] = masters.list;
    if (first === undefined || second === undefined) throw new Error('two were asked for');
    const folder = await folderOf(first);
    expect(existsSync(folder)).to.equal(true);
    await first.stop();
    await first.stop();
    expect(existsSync(folder)).to.equal(false);
    expect(await failure(first.restart())).to.contain('stopped for good');
    expect(await ask(second.port, 'PING', ASK_MS)).to.equal('+PONG\r\n');
    await second.freeze();
    await masters.stop();
    await masters.stop();
    expect(await failure(ask(second.port, 'PING', ASK_MS))).to.contain('ECONNREFUSED');
  });

  it('gives the server more arguments, a password included', async () => {
    await using masters = await startMasters(1, { backend, args: ['--requirepass', 'secret'] });
    expect(await ask(only(masters).port, 'PING', ASK_MS)).to.match(/^-NOAUTH/);
  });

  it('shows the end of the log when a server dies at its start', async () => {
    const error = await failure(startMasters(2, { backend, args: ['--no-such-setting', 'x'] }));
    expect(error)
      .to.match(/did not start.*exit code 1/)
      .and.to.contain('no-such-setting');
  });
});

describe('masters, when the process that started them ends', () => {
  const parent = fileURLToPath(new URL('masters-parent.ts', import.meta.url));

  before(function () {
    needs(this, 'redis-server');
  });

  interface Place {
    readonly ports: readonly number[];
    readonly folder: string;
  }

  async function start(
    ending: string,
  ): Promise<{ child: ChildProcess; place: Place; ended: Promise<unknown[]> }> {
    const child = spawn(process.execPath, ['--import', 'tsx', parent, ending], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const ended = once(child, 'exit');
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    return { child, place: JSON.parse(line) as Place, ended };
  }

  async function areGone(place: Place): Promise<void> {
    for (const port of place.ports) {
      const refused = async (): Promise<boolean> =>
        (await failure(ask(port, 'PING', SILENT_MS))).includes('ECONNREFUSED');
      await until(`port ${port} to be closed`, refused);
    }
  }

  const endings = [
    { ending: 'exit', signal: undefined, result: [0, null] },
    { ending: 'error', signal: undefined, result: [1, null] },
    { ending: 'idle', signal: undefined, result: [0, null] },
    { ending: 'signal', signal: 'SIGINT', result: [null, 'SIGINT'] },
    { ending: 'signal', signal: 'SIGTERM', result: [null, 'SIGTERM'] },
    { ending: 'signal', signal: 'SIGHUP', result: [null, 'SIGHUP'] },
  ] as const;
  for (const { ending, signal, result } of endings) {
    it(`by ${signal ?? ending}: servers, a frozen one too, and folders are gone`, async () => {
      const { child, place, ended } = await start(ending);
      if (signal !== undefined) child.kill(signal);
      expect(await ended).to.deep.equal(result);
      await areGone(place);
      expect(existsSync(place.folder)).to.equal(false);
    });
  }

  it("by SIGINT with a handler of the caller's: it runs, finds them alive, and decides the exit code", async () => {
    const { child, place, ended } = await start('own handler');
    let told = '';
    child.stdout?.on('data', (chunk: Buffer) => (told += chunk.toString()));
    child.kill('SIGINT');
    expect(await ended).to.deep.equal([3, null]);
    expect(told).to.contain('own handler: +PONG');
    await areGone(place);
  });

  it('by SIGKILL, where setpriv is there: servers are gone', async function () {
    needs(this, 'setpriv');
    const { child, place, ended } = await start('signal');
    child.kill('SIGKILL');
    await ended;
    await areGone(place);
    await rm(dirname(place.folder), { recursive: true, force: true }); // only the folder outlives a SIGKILL
  });
});
