/** What an acquisition tells as it goes on: each attempt that fails, that it waits, and what it was granted. */
import { expect } from 'chai';
import { release, releaseQueued } from '../../lib/protocol/request.js';
import { acquisitionBench as bench } from '../support/acquisition-bench.js';
import { plainScope } from '../support/commands.js';
import { settle } from '../support/fake-time.js';
import { hold, OTHER } from '../support/queue-bench.js';
import { rejection } from '../support/rejection.js';

describe('acquisition: what is told of it', () => {
  it('granted at once', async () => {
    const { acquire, told } = bench(false);
    await acquire();
    expect(told).to.deep.equal([['granted', 1, 3, 0]]);
  });

  it('refused, and it does not wait', async () => {
    const { acquire, masters, told } = bench(false);
    for (const master of masters) hold(master, OTHER, 'r');
    await acquire({ waitMs: 0 }).catch(() => undefined);
    expect(told).to.deep.equal([['refused', 1, 3, 'held']]);
  });

  it('refused after the end of its wait: it does not wait', async () => {
    const { acquire, masters, time, told } = bench(false);
    for (const master of masters) {
      hold(master, OTHER, 'r');
      master.latencyMs = 30;
    }
    const failed = rejection(acquire({ waitMs: 20 }));
    await time.advance(60);
    expect((await failed).code).to.equal('LOCK_TAKEN');
    expect(told).to.deep.equal([['refused', 1, 3, 'held']]);
  });

  for (const isDirect of [true, false])
    it(`in the queue, ${isDirect ? 'the votes are handed over directly' : 'a claim follows'}: granted once, by the answers there`, async () => {
      const { acquire, masters, told } = bench(true);
      for (const master of masters) hold(master, OTHER, 'r');
      const wait = acquire();
      await settle();
      for (const master of masters) {
        const request = isDirect
          ? releaseQueued(plainScope('r'), OTHER, master.micros())
          : release(plainScope('r'), OTHER);
        await master.call(request.command);
      }
      const grant = await wait;
      expect([told, grant.origin]).to.deep.equal([
        [
          ['refused', 1, 3, 'held'],
          ['waits', 1],
          ['granted', 2, 3, 0],
        ],
        isDirect ? 'marked' : 'queue',
      ]);
      expect(grant.sentTo).to.have.lengthOf(3);
    });
});
