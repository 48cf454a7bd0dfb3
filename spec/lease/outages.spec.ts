import { expect } from 'chai';
import { changesOf } from '../support/election-changes.js';
import { type Bench, fakeCluster } from '../support/fake-cluster.js';

const TTL_MS = 3_000;

/** What a stand-by that asks one master first is told, while another leads and something happens to the masters. */
async function toldWhile(happens: (masters: Bench['masters']) => void): Promise<readonly string[]> {
  const { masters, other, redlock, time } = fakeCluster(3, { fair: false, ttlMs: TTL_MS });
  const { signal, abort } = abortable();
  const leading = redlock.election('e').lead(untilOver, { signal });
  await time.advance(100);
  const standby = other('b').redlock.election('e');
  const changes = changesOf(standby);
  const waiting = standby.lead(untilOver, { signal });
  await time.advance(TTL_MS);
  happens(masters);
  await time.advance(3 * TTL_MS);
  abort();
  await time.advance(TTL_MS);
  await Promise.all([leading, waiting]);
  return changes.map(({ state }) => state);
}

function abortable(): { readonly signal: AbortSignal; abort(): void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

function untilOver({ signal }: { readonly signal: AbortSignal }): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
}

describe('who waits without end is told of outages', () => {
  it('where one master is asked first, and refuses: those that were not asked are not missing', async () => {
    expect(await toldWhile(() => undefined)).to.deep.equal([]);
  });

  it('one of three is silent: no outage', async () => {
    expect(await toldWhile((masters) => freeze(masters, 1))).to.not.include('failed');
  });

  it('two of three are silent: told', async () => {
    expect(await toldWhile((masters) => freeze(masters, 2))).to.include('failed');
  });
});

function freeze(masters: Bench['masters'], count: number): void {
  for (const master of masters.slice(0, count)) master.manner = 'freeze';
}
