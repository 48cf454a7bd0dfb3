/** Hints of deadlocks on real servers: between processes, between instances over each client, and where rights are missing. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redlock } from '../../lib/redlock.js';
import type { RedlockOptions } from '../../lib/input/options.js';
import type { DeadlockEvent } from '../../lib/telemetry/events.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { PATIENT } from '../support/patience.js';
import { ALL_KINDS, type AnyClient, byHand, eventually, Program } from '../support/real.js';
import { rejection } from '../support/rejection.js';

const NODES = 3;

describe(`deadlocks: N=${NODES}, real masters`, () => {
  let masters: Masters;
  let hands: readonly Redis[];
  const locks: Redlock[] = [];
  const clients: AnyClient[] = [];
  const programs: Program[] = [];
  before(async () => {
    masters = await startMasters(NODES, { backend: 'process' });
    hands = masters.list.map(({ port }) => byHand(port));
  });
  after(async () => {
    for (const hand of hands) hand.disconnect();
    await masters.stop();
  });
  afterEach(async () => {
    for (const program of programs.splice(0)) program.kill();
    await Promise.all(locks.splice(0).map((redlock) => redlock.close({ releaseHeld: true, drainMs: 0 })));
    for (const client of clients.splice(0)) client.disconnect();
    for (const hand of hands) await hand.flushall();
  });
  const open = (options: RedlockOptions = {}, over?: AnyClient[]): Redlock => {
    const all = { ...PATIENT, ...options };
    const redlock = over === undefined ? Redlock.connect(masters.urls, all) : new Redlock(over, all);
    locks.push(redlock);
    return redlock;
  };
  const found = (redlock: Redlock): Promise<DeadlockEvent> =>
    new Promise((resolve) => redlock.once('deadlock', resolve));
  const facts = ({ deadlock }: DeadlockEvent): unknown =>
    deadlock.map(({ holds, label, waitsFor }) => [label, holds, waitsFor]);

  it('two other processes: all three find it, and who ends its wait lets the others go on', async () => {
    const redlock = open({ label: 'api-1' });
    const event = found(redlock);
    const end = new AbortController();
    for (const [own, wanted, label] of [
      ['c', 'a', 'api-3'],
      ['b', 'c', 'api-2'],
    ] as const) {
      const program = new Program('hold-and-wait', masters.urls.join(), own, wanted, label);
      programs.push(program);
      await program.says('held');
    }
    const failing = await nested(redlock, ['a', 'b'], end.signal);
    for (const program of programs) program.tell('wait');
    expect(facts(await event)).to.deep.equal([
      ['api-1', ['a'], 'b'],
      ['api-2', ['b'], 'c'],
      ['api-3', ['c'], 'a'],
    ]);
    expect(await programs[0]?.says('deadlock')).to.equal('deadlock of api-3,api-1,api-2');
    expect(await programs[1]?.says('deadlock')).to.equal('deadlock of api-2,api-3,api-1');
    end.abort();
    expect((await failing.error).code).to.equal('ABORTED');
    for (const program of programs) await program.says('has both');
  });

  for (const { name, open: connect } of ALL_KINDS) {
    it(`${name}: two instances, with a lock for writers and a semaphore`, async () => {
      const over = (): AnyClient[] => masters.list.map(({ port }) => connect(port, {}));
      const [ours, theirs] = [over(), over()];
      clients.push(...ours, ...theirs);
      const [one, other] = [open({ label: 'one' }, ours), open({ label: 'other' }, theirs)];
      const events = [found(one), found(other)];
      const end = new AbortController();
      const { signal } = end;
      const both = Promise.allSettled([
        one.readWriteLock('rw').read.using(async () => {
          await eventually(async () => (await one.semaphore('s', 3).inspect()).holders.length === 1);
          await one.semaphore('s', 3).using({ permits: 2, signal }, () => undefined);
        }),
        other.semaphore('s', 3).using({ permits: 2 }, async () => {
          await eventually(async () => (await other.readWriteLock('rw').read.inspect()).readers.length === 1);
          await other.readWriteLock('rw').write.using({ signal }, () => undefined);
        }),
      ]);
      expect((await Promise.all(events)).map(facts)).to.deep.equal([
        [
          ['one', ['rw'], 's'],
          ['other', ['s'], 'rw'],
        ],
        [
          ['other', ['s'], 'rw'],
          ['one', ['rw'], 's'],
        ],
      ]);
      end.abort();
      await both;
    });
  }

  it('no rights on records: a circle within an instance is found all the same', async () => {
    const keys = ['fence', 'queue', 'turn', 'looks', 'taken', 'guard', 'foreign'].map(
      (kind) => `~quorate:${kind}*`,
    );
    for (const hand of hands)
      await hand.call(
        ...(['ACL', 'SETUSER', 'narrow', 'reset', 'on', '>password', '~lock:*'] as const),
        ...[...keys, '&quorate:push:*', '+@all'],
      );
    const urls = masters.urls.map((url) => url.replace('redis://', 'redis://narrow:password@'));
    const redlock = Redlock.connect(urls, { ...PATIENT, keyPrefix: 'lock:', label: 'narrow' });
    locks.push(redlock);
    const event = found(redlock);
    const end = new AbortController();
    const failing = await nested(redlock, ['a', 'a'], end.signal);
    expect(facts(await event)).to.deep.equal([['narrow', ['a'], 'a']]);
    end.abort();
    await failing.error;
  });
});

/** Resolves once the first lock is held. */
async function nested(
  redlock: Redlock,
  [outer, inner]: readonly [string, string],
  signal: AbortSignal,
): Promise<{ readonly error: ReturnType<typeof rejection> }> {
  let isHeld = (): void => undefined;
  const held = new Promise<void>((resolve) => (isHeld = resolve));
  const call = redlock.using(outer, async () => {
    isHeld();
    await Promise.resolve();
    await redlock.using(inner, { signal }, () => undefined);
  });
  const error = rejection(call);
  await Promise.race([held, error]);
  return { error };
}
