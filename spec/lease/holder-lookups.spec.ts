/** Who holds a lock, looked up for errors and events, under virtual time: how often masters are asked, and for how long. */
import { expect } from 'chai';
import {
  FRESH_MS,
  HolderLookups,
  MOST_KEPT,
  MOST_UNDER_WAY,
  UNNAMED_MS,
} from '../../lib/lease/holder-lookups.js';
import { MUTEX, READ } from '../../lib/protocol/scope.js';
import type { HeldBy } from '../../lib/runtime/instance-info.js';
import { FakeTime, settle } from '../support/fake-time.js';

const NAMED: HeldBy = { id: 'a', label: 'api-3', heldMs: 100 };
const WITHIN_MS = 200;

function bench(answer: (resource: string) => Promise<HeldBy | undefined> = () => Promise.resolve(NAMED)) {
  const time = new FakeTime();
  const looks: string[] = [];
  const own = new Set<string>();
  const lookups = new HolderLookups(
    { clock: time, timers: time },
    (resource, isShared) => {
      looks.push(`${isShared ? 'shared ' : ''}${resource}`);
      return answer(resource);
    },
    (resource) => (own.has(resource) ? { id: 'me', label: 'me' } : undefined),
  );
  const find = (resources: readonly string[] = ['r']) => lookups.find(resources, MUTEX, WITHIN_MS);
  return { time, looks, own, lookups, find };
}

describe('the holder of a lock, looked up', () => {
  it('a caller that fails again and again asks once a second; the time it is held goes on', async () => {
    const { find, looks, time } = bench();
    expect(await find()).to.deep.equal({ resource: 'r', heldBy: NAMED });
    await time.advance(FRESH_MS - 1);
    expect((await find())?.heldBy.heldMs).to.equal(100 + FRESH_MS - 1);
    expect(looks).to.deep.equal(['r']);
    await time.advance(1);
    await find();
    expect(looks).to.deep.equal(['r', 'r']);
    expect(time.pending, 'no timer is left').to.equal(0);
  });

  it('calls that fail together ask once; of another resource or kind, again', async () => {
    const { find, looks, lookups } = bench();
    await Promise.all([find(), find(), find(['s']), lookups.find(['r'], READ, WITHIN_MS)]);
    expect(looks).to.deep.equal(['r', 's', 'shared r']);
  });

  it('nobody, too, holds for a second; a holder without a label only a moment', async () => {
    const nobody = bench(() => Promise.resolve(undefined));
    expect([await nobody.find(), await nobody.find()]).to.deep.equal([undefined, undefined]);
    expect(nobody.looks).to.have.length(1);
    const unnamed = bench(() => Promise.resolve({ id: 'a' }));
    await unnamed.find();
    await unnamed.time.advance(UNNAMED_MS);
    await unnamed.find();
    expect(unnamed.looks).to.have.length(2);
  });

  it('masters that do not answer, or an error: undefined, within the time', async () => {
    const silent = bench(() => new Promise(() => undefined));
    const found = silent.find();
    await silent.time.advance(WITHIN_MS);
    expect(await found).to.equal(undefined);
    expect(silent.time.pending).to.equal(0);
    expect(await bench(() => Promise.reject(new Error('closed'))).find()).to.equal(undefined);
  });

  it('several resources: the first that somebody holds, of three', async () => {
    const { find, looks } = bench((resource) => Promise.resolve(resource === 'b' ? NAMED : undefined));
    expect(await find(['a', 'b', 'c', 'd'])).to.deep.equal({ resource: 'b', heldBy: NAMED });
    expect(looks).to.deep.equal(['a', 'b', 'c']);
  });

  it('what this instance holds itself is not looked up', async () => {
    const { find, looks, lookups, own } = bench();
    own.add('r');
    expect((await find())?.heldBy.label).to.equal('me');
    expect(lookups.glance(['r'], MUTEX)?.label).to.equal('me');
    expect(looks).to.deep.equal([]);
  });

  it('a glance does not wait: what is not known is there for the next', async () => {
    const { looks, lookups } = bench();
    expect(lookups.glance(['r'], MUTEX)).to.equal(undefined);
    expect(lookups.glance(['r'], MUTEX)).to.equal(undefined);
    await settle();
    expect(lookups.glance(['r'], MUTEX)).to.include({ label: 'api-3' });
    expect(looks).to.deep.equal(['r']);
  });

  it(`at most ${MOST_UNDER_WAY} look-ups at a time, and ${MOST_KEPT} answers`, async () => {
    const silent = bench(() => new Promise(() => undefined));
    for (let i = 0; i < 2 * MOST_UNDER_WAY; i++) silent.lookups.glance([`r${i}`], MUTEX);
    expect(silent.looks).to.have.length(MOST_UNDER_WAY);
    const many = bench();
    for (let i = 0; i <= MOST_KEPT; i++) await many.find([`r${i}`]);
    await many.find(['r1']);
    expect(many.looks).to.have.length(MOST_KEPT + 1);
    await many.find(['r0']);
    expect(many.looks, 'the oldest was forgotten').to.have.length(MOST_KEPT + 2);
  });
});
