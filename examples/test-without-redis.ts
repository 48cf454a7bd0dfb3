/**
 * Testing your own code without Redis: masters in this process, and what happens to them at a call.
 *
 *   node --import tsx examples/test-without-redis.ts
 */
import assert from 'node:assert/strict';
import { RedlockError, type Redlock } from '../lib/index.js'; // you write: from 'quorate'
import { MemoryMasters } from '../lib/testing/index.js'; // you write: from 'quorate/testing'

type Bill = (invoice: string) => Promise<void>;

/** The code under test: an invoice is billed once, by whichever process comes first. It is given its Redlock. */
async function billOnce(redlock: Redlock, billed: Set<string>, invoice: string, bill: Bill): Promise<string> {
  try {
    return await redlock.using(`invoice:${invoice}`, { waitMs: 0 }, async (lease) => {
      if (billed.has(invoice)) return 'was billed';
      await bill(invoice);
      lease.assertHeld(); // throws if the lease was lost meanwhile
      billed.add(invoice);
      return 'billed';
    });
  } catch (error) {
    if (RedlockError.is(error) && error.code === 'LOCK_TAKEN') return 'another is at it';
    throw error;
  }
}

/** A bill that takes as long as the test wants. */
function slowBill(): { readonly bill: Bill; readonly begun: Promise<void>; readonly finish: () => void } {
  let begin = (): void => undefined;
  let finish = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const bill = (): Promise<void> => {
    begin();
    return finished;
  };
  return { bill, begun, finish: () => finish() };
}

const nothing: Bill = () => Promise.resolve();

const tests: Readonly<Record<string, (masters: MemoryMasters) => Promise<void>>> = {
  async 'of two processes one bills'(masters) {
    const [one, other] = [masters.redlock(), masters.redlock()]; // two instances are two clients
    const billed = new Set<string>();
    const { bill, begun, finish } = slowBill();
    const first = billOnce(one, billed, '42', bill);
    await begun;
    assert.equal(await billOnce(other, billed, '42', nothing), 'another is at it');
    finish();
    assert.equal(await first, 'billed');
    assert.equal(await billOnce(other, billed, '42', nothing), 'was billed');
  },

  async 'one master of three is dead: nobody notices'(masters) {
    await masters.list[0].kill();
    assert.equal(await billOnce(masters.redlock(), new Set(), '42', nothing), 'billed');
  },

  async 'two of three are dead: nothing is billed'(masters) {
    const redlock = masters.redlock();
    const billed = new Set<string>();
    const majority = masters.list.slice(0, 2);
    for (const master of majority) await master.kill();
    const bill = (): Promise<void> => assert.fail('billed without a lock');
    await assert.rejects(billOnce(redlock, billed, '42', bill), { code: 'NO_QUORUM' });
    assert.equal(billed.size, 0);

    for (const master of majority) master.restart({ data: 'kept' });
    assert.equal(await billOnce(redlock, billed, '42', nothing), 'billed');
  },

  async 'a majority dies while it bills: the invoice does not count as billed'(masters) {
    const redlock = masters.redlock({ ttlMs: 200 });
    const billed = new Set<string>();
    const bill: Bill = async () => {
      for (const master of masters.list.slice(0, 2)) await master.kill();
      await new Promise((resolve) => setTimeout(resolve, 250)); // longer than the lease can live without renewal
    };
    await assert.rejects(billOnce(redlock, billed, '42', bill), { code: 'LOCK_LOST' });
    assert.equal(billed.size, 0);
  },
};

for (const [title, test] of Object.entries(tests)) {
  await using masters = new MemoryMasters(3); // closed, with its instances, at the end of the block
  await test(masters);
  console.log(`✓ ${title}`);
}
