/** The record of an instance, under virtual time: when it is written, to whom, and when no longer. */
import { expect } from 'chai';
import {
  BEHIND_CLAIM_MS,
  RECORD_LIFE_MS,
  RecordWriter,
  REFRESH_MS,
  REFUSED_MS,
} from '../../lib/lease/record-writer.js';
import { Node } from '../../lib/node/node.js';
import { FakeMaster, serverError } from '../support/fake-master.js';
import { FakeTime } from '../support/fake-time.js';

const KEY = 'quorate:client:{me}';

function bench(count = 3) {
  const time = new FakeTime();
  const masters = Array.from({ length: count }, (_, i) => new FakeMaster(`m${i + 1}`, time));
  const nodes = masters.map((master, i) => new Node(master, i, time));
  const subject = { busy: true, texts: 0 };
  const writer = new RecordWriter(
    { nodes, clock: time, timers: time },
    { key: () => KEY, text: () => `text ${++subject.texts}`, isBusy: () => subject.busy },
  );
  return { time, masters, subject, writer, values: () => masters.map((master) => master.value(KEY)) };
}

describe('the record of an instance', () => {
  it('N=3: behind the first use, once on each master, for a minute; then every 20 s while it holds or waits', async () => {
    const { masters, time, values, writer } = bench();
    writer.used();
    writer.used();
    expect(values()).to.deep.equal([undefined, undefined, undefined]);
    await time.advance(BEHIND_CLAIM_MS);
    expect(values()).to.deep.equal(['text 1', 'text 1', 'text 1']);
    expect(masters.map((master) => [master.calls, master.ttlMs(KEY)])).to.deep.equal(
      Array.from({ length: 3 }, () => [1, RECORD_LIFE_MS]),
    );
    writer.used();
    await time.advance(REFRESH_MS - 1);
    expect(values()[0]).to.equal('text 1');
    await time.advance(1);
    expect(values()[0]).to.equal('text 2');
    await time.advance(10 * REFRESH_MS);
    expect(masters.map(({ calls }) => calls)).to.deep.equal([12, 12, 12]);
  });

  it('idle: no timer, and it is gone a minute later; used again, it is written again, 20 s after the last time at the earliest', async () => {
    const { masters, subject, time, values, writer } = bench();
    subject.busy = false;
    writer.used();
    await time.advance(BEHIND_CLAIM_MS);
    expect(time.pending).to.equal(0);
    for (let i = 0; i < 100; i++) {
      writer.used();
      await time.advance(100);
    }
    expect(masters[0]?.calls, 'within 20 s').to.equal(1);
    await time.advance(REFRESH_MS);
    expect([masters[0]?.calls, time.pending]).to.deep.equal([2, 0]);
    await time.advance(RECORD_LIFE_MS);
    expect(values()).to.deep.equal([undefined, undefined, undefined]);
    writer.used();
    await time.advance(BEHIND_CLAIM_MS);
    expect(values()[0]).to.equal('text 3');
  });

  it('a master that refuses the key is asked again after ten minutes; one that is lost or silent, at the next turn', async () => {
    const { masters, time, values, writer } = bench();
    const [refusing, lost] = masters;
    refusing?.replies.push(serverError('NOPERM No permissions to access a key'));
    lost?.become('lost');
    writer.used();
    await time.advance(BEHIND_CLAIM_MS);
    expect(values()).to.deep.equal([undefined, undefined, 'text 1']);
    lost?.become('ready');
    await time.advance(REFRESH_MS);
    expect(values()).to.deep.equal([undefined, 'text 2', 'text 2']);
    await time.advance(REFUSED_MS - 2 * REFRESH_MS);
    expect(refusing?.calls).to.equal(1);
    await time.advance(2 * REFRESH_MS);
    expect(refusing?.calls).to.be.greaterThan(1);
    expect(values()[0]).to.match(/^text/);
  });

  it('a master that is connecting for the first time gets it once it is connected, and no more than one', async () => {
    const { masters, time, values, writer } = bench();
    masters[0]?.become('opening');
    writer.used();
    await time.advance(BEHIND_CLAIM_MS + REFRESH_MS);
    expect(values()).to.deep.equal([undefined, 'text 2', 'text 2']);
    masters[0]?.become('ready');
    await time.advance(0);
    expect([values()[0], masters[0]?.calls]).to.deep.equal(['text 2', 1]);
  });

  for (const isGone of [true, false]) {
    it(`close, ${isGone ? 'nothing is held: it is deleted' : 'leases are left to run out: it stays'}; no timer is left`, async () => {
      const { time, values, writer } = bench();
      writer.used();
      await time.advance(BEHIND_CLAIM_MS);
      writer.close(isGone);
      writer.used();
      await time.advance(REFRESH_MS);
      expect(values()[0]).to.equal(isGone ? undefined : 'text 1');
      expect(time.pending).to.equal(0);
    });
  }

  it('close before it was written: nothing is sent', async () => {
    const { masters, time, writer } = bench();
    writer.used();
    writer.close(true);
    await time.advance(REFRESH_MS);
    expect(masters.map(({ calls }) => calls)).to.deep.equal([0, 0, 0]);
  });
});
