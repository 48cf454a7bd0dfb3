/** Watching elections over masters in memory, under virtual time. */
import { expect } from 'chai';
import type { Leader } from '../../lib/election/public.js';
import { NOTE_READ } from '../../lib/protocol/lua/scripts.js';
import { scriptOf } from '../../lib/testing/master/execution.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

const TERMS = { ttlMs: 30_000, nodeTimeoutMs: 200 } as const;

/** How many looks the masters were asked for. */
function looks({ masters }: Bench): number {
  return masters[0]?.sent.filter(({ kind }) => kind === 'note-read').length ?? 0;
}

/** Takes down what is observed. */
function watch(
  bench: Bench,
  signal?: AbortSignal,
): { readonly seen: string[]; readonly done: Promise<void> } {
  const seen: string[] = [];
  const iterator = bench.other('watcher').redlock.election('boss').observe({ signal });
  const run = async (): Promise<void> => {
    for await (const leader of iterator) seen.push(leader?.value ?? 'nobody');
  };
  return { seen, done: run() };
}

describe('observe', () => {
  it('tells who leads now, and of each change that is pushed, without time passing', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const { seen } = watch(bench);
    await settle();
    const leadership = await bench.redlock.election('boss').campaign('a');
    await settle();
    await leadership.proclaim('b');
    await settle();
    await leadership.resign();
    await settle();
    expect(seen).to.deep.equal(['nobody', 'a', 'b', 'nobody']);
  });

  it('polls nobody while pushes come', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    await bench.redlock.election('boss').campaign('a');
    const { seen } = watch(bench);
    await bench.time.advance(1_000);
    const before = looks(bench);
    await bench.time.advance(600_000);
    expect(looks(bench)).to.equal(before);
    expect(seen).to.deep.equal(['a']);
  });

  it('ends at the latest leader though every push is lost', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const { seen } = watch(bench);
    await settle();
    for (const master of bench.masters) master.deliversPushes = false;
    const leadership = await bench.redlock.election('boss').campaign('a');
    await leadership.proclaim('b');
    await bench.time.advance(30_100);
    expect(seen).to.deep.equal(['nobody', 'b']);
    await leadership.resign();
    await bench.other('c').redlock.election('boss').campaign('c');
    await bench.time.advance(30_100);
    expect(seen.at(-1)).to.equal('c');
  });

  it('tells that nobody leads when a leader died, once its votes are over', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const { seen } = watch(bench);
    await settle();
    await bench.redlock.election('boss').campaign('a');
    await settle();
    // as if it died: its requests are lost from here on, those of the watcher are not
    for (const master of bench.masters) {
      const send = master.call.bind(master);
      master.call = (command) =>
        scriptOf(command) === NOTE_READ ? send(command) : new Promise(() => undefined);
    }
    await bench.time.advance(29_000);
    expect(seen).to.deep.equal(['nobody', 'a']);
    await bench.time.advance(2_000);
    expect(seen).to.deep.equal(['nobody', 'a', 'nobody']);
  });

  it('looks each second where masters do not push', async () => {
    const bench = fakeCluster(3, TERMS);
    const { seen } = watch(bench);
    await settle();
    await bench.redlock.election('boss').campaign('a');
    await bench.time.advance(1_000);
    expect(seen).to.deep.equal(['nobody', 'a']);
  });

  it('keeps the leader it told of while too few masters answer, until its votes would be over', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    await bench.redlock.election('boss').campaign('a');
    const { seen } = watch(bench);
    await settle();
    for (const master of bench.masters.slice(1)) master.state = 'lost';
    for (const master of bench.masters.slice(1)) master.connection.lose();
    await bench.time.advance(15_000);
    expect(seen).to.deep.equal(['a']);
    await bench.time.advance(30_000);
    expect(seen).to.deep.equal(['a', 'nobody']);
  });

  it('skips what changes meanwhile, and never the latest', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const leadership = await bench.redlock.election('boss').campaign('0');
    const iterator = bench.other('w').redlock.election('boss').observe();
    const value = async (): Promise<string | undefined> =>
      ((await iterator.next()).value as Leader | null)?.value;
    expect(await value()).to.equal('0');
    for (let i = 1; i <= 5; i++) await leadership.proclaim(String(i));
    await settle();
    expect(await value()).to.equal('5');
    const next = value();
    await leadership.proclaim('6');
    expect(await next).to.equal('6');
    await iterator.return?.();
  });

  it('ends with its signal, at once and without an error; with CLOSED when the instance closes', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const controller = new AbortController();
    const { seen, done } = watch(bench, controller.signal);
    await settle();
    controller.abort();
    await done;
    expect(seen).to.deep.equal(['nobody']);
    const other = bench.other('closing').redlock;
    const iterator = other.election('boss').observe();
    await iterator.next();
    const waiting = rejection(iterator.next());
    await other.close();
    expect(await waiting).to.include({ code: 'CLOSED' });
    expect(await iterator.next()).to.deep.equal({ done: true, value: undefined });
    const late = other.election('boss').observe();
    expect(await rejection(late.next())).to.include({ code: 'CLOSED' });
  });

  it('leaves nothing behind: connections, timers, listeners', async () => {
    const bench = fakeCluster(3, TERMS, { hasPushes: true });
    const iterator = bench.redlock.election('boss').observe();
    await iterator.next();
    const waiting = iterator.next();
    await settle();
    expect(await iterator.return?.()).to.deep.equal({ done: true, value: undefined });
    expect(await waiting).to.deep.equal({ done: true, value: undefined });
    for (const master of bench.masters) expect(master.connection.isClosed).to.equal(true);
    expect(bench.time.pending).to.equal(0);
  });
});
