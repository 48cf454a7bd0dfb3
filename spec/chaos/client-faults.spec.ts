/**
 * Faults of a client: processes that stall, stop, exit and are killed while they hold a lock, on real servers. Times are
 * from the machine's monotonic clock, and only bounds that the protocol gives are checked.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redlock } from '../../lib/index.js';
import { tokenIn } from '../../lib/runtime/random.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { locksOn } from '../support/commands.js';
import { needs, partOf } from '../support/parts.js';
import { EVERY_MASTER, PATIENT } from '../support/patience.js';
import { byHand, eventually } from '../support/real.js';
import type { Usage } from './client/faults.js';

const PROGRAM = fileURLToPath(new URL('client/faults.ts', import.meta.url));
const HOUR_MS = 3_600_000;

/** One run of a program of client/faults.ts. */
class Client {
  readonly process: ChildProcess;
  readonly said: string[] = [];
  readonly #isOver: Promise<unknown>;

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const flags = ['--expose-gc', '--import', 'tsx', PROGRAM];
    this.process = spawn(process.execPath, [...flags, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    });
    if (this.process.stdout === null) throw new Error('its output is a pipe');
    createInterface({ input: this.process.stdout }).on('line', (line) => this.said.push(line));
    this.#isOver = once(this.process, 'close');
  }

  async says(beginning: string): Promise<string> {
    const find = (): string | undefined => this.said.find((line) => line.startsWith(beginning));
    await eventually(() => find() !== undefined || this.#hasEnded);
    const line = find();
    if (line === undefined) throw new Error(`it ended without saying ${beginning}: ${this.said.join('; ')}`);
    return line;
  }

  get #hasEnded(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  async ends(): Promise<number | string | null> {
    await this.#isOver;
    return this.process.exitCode ?? this.process.signalCode;
  }
}

for (const nodes of [1, 3]) {
  describe(`client faults: N=${nodes}`, function () {
    let masters: Masters;
    let hands: Redis[];
    let redlock: Redlock;
    let clients: Client[];
    beforeEach(async () => {
      clients = [];
      masters = await startMasters(nodes, { backend: 'process' });
      hands = masters.list.map(({ port }) => byHand(port));
      redlock = Redlock.connect(masters.urls, PATIENT);
      await redlock.ready(EVERY_MASTER);
    });
    afterEach(async () => {
      for (const client of clients) client.process.kill('SIGKILL');
      await redlock.close({ releaseHeld: true });
      for (const hand of hands) hand.disconnect();
      await masters.stop();
    });
    const start = (args: readonly string[], env?: Readonly<Record<string, string>>): Client => {
      const [name = '', ...more] = args;
      const client = new Client([name, masters.urls.join(), ...more], env);
      clients.push(client);
      return client;
    };
    const nothingLeft = async (): Promise<void> => {
      for (const hand of hands) await eventually(async () => (await locksOn(hand)).length === 0);
    };

    it('the event loop is stalled past the ttl: the first line knows, and the signal fires in the first timer phase', async () => {
      const client = start(['stall', '400']);
      expect(await client.says('LOCK_LOST')).to.equal('LOCK_LOST lost 0');
      expect(await client.says('signal')).to.equal('signal true');
      expect(await client.ends()).to.equal(0);
      await nothingLeft();
    });

    for (const [how, end] of [
      ['exit', 7],
      ['kill', 'SIGKILL'],
    ] as const) {
      it(`${how} while holding: a waiter takes over when the ttl is over, not before`, async () => {
        const ttlMs = 1_500;
        const client = start(['hold', String(ttlMs), how]);
        await client.says('held');
        if (how === 'kill') client.process.kill('SIGKILL');
        expect(await client.ends()).to.equal(end);
        // fewer masters than a quorum still hold it, as they report themselves: from then on a waiter may get it
        const left = await Promise.all(hands.map((hand) => hand.pttl('r')));
        const lease = await redlock.acquire('r');
        const isOver = await Promise.all(
          hands.map(async (hand) => tokenIn((await hand.get('r')) ?? '') === lease.token),
        );
        expect(isOver.filter(Boolean).length).to.be.greaterThan(nodes / 2);
        expect(Math.max(...left)).to.be.at.most(ttlMs);
        await lease.release();
        await nothingLeft();
      });
    }

    it('stopped past the ttl: a waiter has it before the holder runs again', async () => {
      const client = start(['hold', '500']);
      await client.says('held');
      client.process.kill('SIGSTOP');
      const lease = await redlock.acquire('r');
      client.process.kill('SIGCONT');
      await lease.extend();
      lease.assertHeld();
      await lease.release();
    });

    for (const how of nodes === 1 ? ['abort', 'expiry'] : ['abort']) {
      it(`10,000 waits on a held key, ended by ${how}: memory, timers and sockets are back where they were`, async () => {
        const lease = await redlock.acquire('taken');
        const client = start(['waits', how, '10000']);
        const { before, after } = JSON.parse(await client.says('{')) as Record<'before' | 'after', Usage>;
        expect(client.said.filter((line) => line.startsWith('odd'))).to.deep.equal([]);
        expect(after.timers).to.be.at.most(before.timers);
        expect(after.sockets).to.be.at.most(before.sockets); // idle push connections are closed
        expect(after.heap - before.heap, 'bytes').to.be.below(3e6); // the last undos are awaited
        expect(await client.ends()).to.equal(0); // by itself
        await lease.release();
        await nothingLeft();
      });
    }

    for (const step of [HOUR_MS, -HOUR_MS]) {
      const title = `the wall clock of the client steps by ${step / HOUR_MS} h: neither leases nor waits notice`;
      it(title, async function () {
        needs(this, 'libfaketime');
        const folder = mkdtempSync(join(tmpdir(), 'quorate-wall-'));
        const file = join(folder, 'offset');
        const set = (offset: string): void => {
          writeFileSync(`${file}.new`, `${offset}\n`);
          renameSync(`${file}.new`, file); // it is never read half-written
        };
        try {
          set('+0');
          const env = {
            LD_PRELOAD: partOf('libfaketime') ?? '',
            FAKETIME_TIMESTAMP_FILE: file,
            FAKETIME_NO_CACHE: '1',
            FAKETIME_DONT_FAKE_MONOTONIC: '1',
          };
          const blocker = await redlock.acquire('r');
          const client = start(['wall'], env);
          const before = Number((await client.says('wall')).split(' ')[1]);
          set(`${step > 0 ? '+' : '-'}3600`);
          client.process.kill('SIGUSR2');
          const [, wall, kept, , elapsed] = (await client.says('stepped')).split(' ');
          expect(Number(wall) - before - Number(elapsed), 'the step was seen by Date.now').to.be.closeTo(
            step,
            HOUR_MS / 2,
          );
          expect(kept).to.equal('held');
          expect(
            Number((await client.says('ended')).split(' ')[1]),
            'no earlier than it said',
          ).to.be.at.least(-1);
          await blocker.release();
          expect(await client.says('got')).to.equal('got held held');
          expect(await client.ends()).to.equal(0);
          await nothingLeft();
        } finally {
          rmSync(folder, { recursive: true });
        }
      });
    }
  });
}
