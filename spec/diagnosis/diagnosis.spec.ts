import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import type { Redlock } from '../../lib/redlock.js';
import { MemoryMasters } from '../../lib/testing/index.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

describe('diagnose: masters in memory', () => {
  let time: FakeTime;
  let masters: MemoryMasters;
  let redlock: Redlock;
  beforeEach(() => {
    time = new FakeTime();
    masters = new MemoryMasters(3, { clock: time, timers: time });
    redlock = masters.redlock();
  });
  afterEach(async () => {
    const closed = masters.close();
    await time.advance(60_000);
    await closed;
  });

  /** Moves time on until it is settled. */
  async function settled<T>(call: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => void (isOver = true);
    call.then(over, over);
    const { pending } = time;
    while (time.pending === pending && !isOver) await turn(); // it is being loaded; mocha's timeout is the bound
    for (let left = 2_000; left > 0 && !isOver; left--) await time.advance(10);
    expect(isOver, 'settled in 20 s').to.equal(true);
    return call;
  }

  it('three that are up: fit, and nothing is found', async () => {
    const diagnosis = await settled(redlock.diagnose());
    expect(diagnosis.findings).to.deep.equal([]);
    expect(diagnosis.verdict).to.equal('fit');
    expect(diagnosis.nodes.map(({ node, answers }) => [node, answers])).to.deep.equal([
      ['memory-1', true],
      ['memory-2', true],
      ['memory-3', true],
    ]);
  });

  it('a dead master of three is a warning; the second one an error', async () => {
    await masters.list[1]?.kill();
    const one = await settled(redlock.diagnose());
    expect(one.findings).to.have.length(1);
    expect(one.findings[0]).to.include({ code: 'UNREACHABLE', severity: 'warning' });
    expect(one.findings[0]?.nodes).to.deep.equal(['memory-2']);
    expect(one.nodes[1]).to.deep.equal({ node: 'memory-2', answers: false });
    await masters.list[2]?.kill();
    const two = await settled(redlock.diagnose());
    expect(two.verdict).to.equal('error');
    expect(two.findings.flatMap(({ nodes }) => nodes)).to.deep.equal(['memory-2', 'memory-3']);
  });

  it('a frozen master costs its timeout and no more, and later answers to what was asked change nothing', async () => {
    masters.list[0].freeze();
    const startMs = time.now();
    const diagnosis = await settled(redlock.diagnose({ timeoutMs: 700, driftOverMs: 0 }));
    expect(time.now() - startMs).to.equal(700);
    expect(diagnosis.findings[0]?.text).to.match(/no reply within 700 ms/);
    masters.list[0].thaw();
    await settle();
    expect(diagnosis.nodes[0]).to.deep.equal({ node: 'memory-1', answers: false });
  });

  it('the clocks are watched for driftOverMs', async () => {
    const startMs = time.now();
    await settled(redlock.diagnose({ driftOverMs: 1_500 }));
    expect(time.now() - startMs).to.equal(1_500);
  });

  it('a signal ends it: ABORTED with its reason; close does: CLOSED; both leave no timer', async () => {
    masters.list[0].freeze();
    const controller = new AbortController();
    const before = time.pending;
    const aborted = rejection(redlock.diagnose({ signal: controller.signal }));
    await settle();
    controller.abort('enough');
    const { code, cause } = await settled(aborted);
    expect([code, cause]).to.deep.equal(['ABORTED', 'enough']);
    expect(time.pending).to.equal(before);
    const closed = rejection(redlock.diagnose());
    await settle();
    const closing = redlock.close();
    expect((await settled(closed)).code).to.equal('CLOSED');
    masters.list[0].thaw();
    await settled(closing);
  });

  it('wrong options are refused by name and value', async () => {
    const refusals = [
      [{ timeoutMs: 0 }, /timeoutMs must be .* got 0/],
      [{ driftOverMs: -1 }, /driftOverMs must be .* got -1/],
      [{ shared: 1 }, /shared must be .* got 1/],
      [{ signal: {} }, /signal must be an AbortSignal/],
      [{ timeout: 5 }, /timeout \(5\) is not an option here; did you mean timeoutMs\?/],
    ] as const;
    for (const [options, text] of refusals) {
      const error = await rejection(redlock.diagnose(options as object));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(text);
    }
  });

  it('claims nothing: a lock that is held stays held, and no key is set', async () => {
    const lease = await redlock.acquire('r');
    const before = await redlock.inspect('quorate-doctor');
    await settled(redlock.diagnose());
    lease.assertHeld();
    expect(await redlock.inspect('quorate-doctor')).to.deep.equal(before);
    await lease.release();
  });

  describe('the rights that it prints', () => {
    const commandsOf = (rights: readonly string[]) => rights.filter((rule) => rule.startsWith('+'));

    it('follow what the instance does', async () => {
      const plain = masters.redlock({ fencing: false, fair: false, keyPrefix: 'lock:' });
      const { rights } = await settled(plain.diagnose({ driftOverMs: 0 }));
      expect(rights.slice(0, 3)).to.deep.equal(['~lock:*', '~quorate:*', 'resetchannels']);
      expect(rights).to.not.include('+publish');
      const guarded = masters.redlock({ restartGuardMs: 60_000 });
      expect((await settled(guarded.diagnose({ driftOverMs: 0 }))).rights).to.include('+info');
    });

    it('include those of shared locks once the instance has used one, or when asked', async () => {
      const before = await settled(redlock.diagnose({ driftOverMs: 0 }));
      expect(commandsOf(before.rights)).to.not.include('+hgetall');
      const asked = await settled(redlock.diagnose({ driftOverMs: 0, shared: true }));
      await redlock.semaphore('s', 2).using(() => undefined);
      const after = await settled(redlock.diagnose({ driftOverMs: 0 }));
      expect(commandsOf(after.rights)).to.include('+hgetall');
      expect(after.rights).to.deep.equal(asked.rights);
    });

    it('a prefix stands for itself: its characters are no pattern', async () => {
      const odd = masters.redlock({ keyPrefix: 'a*[b]?\\' });
      const { rights } = await settled(odd.diagnose({ driftOverMs: 0 }));
      expect(rights[0]).to.equal('~a\\*\\[b\\]\\?\\\\*');
    });
  });
});
