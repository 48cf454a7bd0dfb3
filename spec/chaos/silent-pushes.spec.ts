/**
 * Push connections that swallow everything while both ends believe in them: real masters go on publishing to them, and no
 * socket tells the client. Whoever waits finds out by an echo.
 */
import { expect } from 'chai';
import type { Lease } from '../../lib/lease/public.js';
import { pushChannel, queueKey } from '../../lib/protocol/keys.js';
import { tokenIn } from '../../lib/runtime/random.js';
import { Bench } from './kit/bench.js';
import { kindsOf } from './kit/commands.js';
import type { ChaosMaster } from './kit/masters.js';
import { eventually, type Guest, within } from './kit/stage.js';

/** Not a promise: a mistake shows as a wait without end. */
const NEVER_MS = 120_000;
const LOCKS = 40;
/** Their looks, every 2 s each, come one after another all the time. */
const APART_MS = 50;
/** The echo that is missed, one that may be under way, and the first of the next connection. */
const MOST_ECHOES = 3;
const TERMS = { waitMs: 2 * NEVER_MS };

describe('chaos: push connections that fall silent', function () {
  this.timeout(3 * NEVER_MS);

  describe('N=3', () => {
    const bench = benchOf(3);

    it('40 locks are waited for by one client, each with looks of its own: they are replaced, and a release reaches it', async () => {
      const [holder, waiter] = [await bench.open(), await bench.open()];
      const names = Array.from({ length: LOCKS }, () => bench.resource());
      const held = await Promise.all(names.map((name) => holder.redlock.acquire(name, TERMS)));
      const waits: Promise<Lease>[] = [];
      for (const name of names) {
        waits.push(waiter.redlock.acquire(name, TERMS));
        await new Promise((resolve) => setTimeout(resolve, APART_MS));
      }
      await queued(bench, names, 1);
      const [token = ''] = (await bench.hands[0]?.zrange(queueKey(names[0] ?? ''), '0', '0')) ?? [];
      const channel = pushChannel(token);
      await Promise.all(
        bench.list.map(async (master) => {
          const echoes = await silentFor(master, channel);
          expect(echoes, `echoes until ${master.name} is heard again`).to.be.within(1, MOST_ECHOES);
        }),
      );
      await Promise.all(held.map((lease) => lease.release()));
      const got = await within('all locks', NEVER_MS, Promise.all(waits));
      await Promise.all(got.map((lease) => lease.release()));
    });
  });

  describe('N=2', () => {
    const bench = benchOf(2);

    it('votes are split, and the one who is to yield hears nothing: both are served', () => split(bench));
  });

  describe('N=3, one of them frozen', () => {
    const bench = benchOf(3);

    it('votes are split, and the one who is to yield hears nothing: both are served', async () => {
      await split(bench);
      await bench.list[2]?.thaw();
    });
  });
});

function benchOf(nodes: number): Bench {
  const bench = new Bench(nodes);
  before(() => bench.start('process'));
  after(() => bench.stop());
  afterEach(async () => {
    await Promise.all(bench.list.map((master) => master.heal()));
    await bench.close();
  });
  return bench;
}

/**
 * One of two masters hears of the earlier waiter too late: as the lock is released, each waiter gets a vote, and the later
 * one is to yield its own.
 */
async function split(bench: Bench): Promise<void> {
  const [holder, earlier, later] = [await bench.open(), await bench.open(), await bench.open()];
  await warm(bench, holder, [earlier, later]);
  const name = bench.resource();
  const lease = await holder.redlock.acquire(name, TERMS);
  const [late, prompt, third] = bench.list;
  if (late === undefined || prompt === undefined) throw new Error('there are two at least');
  await third?.freeze();
  const trap = late.proxy.trap({
    point: 'before-request',
    action: 'delay',
    match: (words) => kindsOf(words).includes('queue'),
  });
  const first = serve(earlier, name);
  await within('its look', NEVER_MS, trap.sprung);
  await queuedAt(bench, prompt, name, 1);
  const second = serve(later, name);
  await queuedAt(bench, prompt, name, 2);
  await queuedAt(bench, late, name, 1);
  const [token = ''] = await bench.hand(late).zrange(queueKey(name), '0', '0');
  await lease.release();
  await eventually('the later one to have the vote', async () => {
    const owner = await bench.hand(late).get(name);
    return owner !== null && tokenIn(owner) === token;
  });
  late.proxy.silencePushes(pushChannel(token));
  trap.release();
  await within('both', NEVER_MS, Promise.all([first, second]));
}

/** They know that locks are held, and have push connections. */
async function warm(bench: Bench, holder: Guest, waiters: readonly Guest[]): Promise<void> {
  const name = bench.resource();
  const lease = await holder.redlock.acquire(name, TERMS);
  const waits = waiters.map((waiter) => serve(waiter, name));
  await queued(bench, [name], waiters.length);
  await lease.release();
  await Promise.all(waits);
}

async function serve({ redlock }: Guest, name: string): Promise<void> {
  const lease = await redlock.acquire(name, TERMS);
  await lease.release();
}

async function queued(bench: Bench, names: readonly string[], count: number): Promise<void> {
  for (const master of bench.list) for (const name of names) await queuedAt(bench, master, name, count);
}

async function queuedAt(bench: Bench, master: ChaosMaster, name: string, count: number): Promise<void> {
  await eventually(
    `${count} to wait for ${name} at ${master.name}`,
    async () => (await bench.hand(master).zcard(queueKey(name))) === count,
    NEVER_MS,
  );
}

/** Silences a client's push connection until it has made it anew. @returns how many echoes it has sent meanwhile */
async function silentFor({ name, proxy }: ChaosMaster, channel: string): Promise<number> {
  let echoes = 0;
  const count = (words: readonly string[]): boolean => {
    if (kindsOf(words).includes('hello')) echoes++;
    return false;
  };
  await eventually(`a client to listen at ${name}`, () => proxy.isListening(channel), NEVER_MS);
  proxy.silencePushes(channel);
  proxy.trap({ point: 'before-request', action: 'close', match: count });
  await eventually(`it to listen at ${name} again`, () => proxy.isListening(channel), NEVER_MS);
  return echoes;
}
