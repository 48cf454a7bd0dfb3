/** The line of one name: which of a manager's requests ask the masters, without masters. */
import { expect } from 'chai';
import type { Lease } from '../../lib/lease/public.js';
import { Line, Place } from '../../lib/weblocks/line.js';
import type { LockMode } from '../../lib/weblocks/public.js';

const lease = { status: 'held' } as Lease; // what the line reads of it

describe('web locks: the line of a name', () => {
  let line: Line;
  beforeEach(() => {
    line = new Line();
  });

  function enter(mode: LockMode, ifAvailable = false): Place {
    const place = new Place(mode, ifAvailable);
    line.enter(place);
    return place;
  }

  it('shared requests ask side by side; an exclusive one asks once those in front are granted', () => {
    const places = [enter('shared'), enter('shared'), enter('exclusive'), enter('shared')];
    expect(places.map(({ turn }) => turn)).to.deep.equal(['asks', 'asks', undefined, undefined]);
    const [first, second, third, fourth] = places as [Place, Place, Place, Place];
    line.grant(second, lease);
    expect(third.turn).to.equal(undefined);
    line.grant(first, lease);
    expect([third.turn, fourth.turn]).to.deep.equal(['asks', undefined]);
    line.grant(third, lease);
    expect(fourth.turn).to.equal('asks');
    expect(line.held.map(({ mode }) => mode)).to.deep.equal(['shared', 'shared', 'exclusive']);
  });

  it('one that leaves lets those behind it ask', () => {
    const [first, second, third] = [enter('shared'), enter('exclusive'), enter('shared')];
    line.leave(second);
    expect([second.turn, third.turn]).to.deep.equal(['left', 'asks']);
    line.leave(second);
    line.leave(first);
    expect(first.turn).to.equal('asks'); // its wait was over
    line.leave(third);
    expect(line.isEmpty).to.equal(true);
  });

  it('ifAvailable is refused at once behind one that waits in the line, also if it fits beside those that ask', () => {
    const places = [enter('shared'), enter('exclusive'), enter('shared', true)];
    expect(places.map(({ turn }) => turn)).to.deep.equal(['asks', undefined, 'taken']);
  });

  it('ifAvailable waits for those of its kind in front of it, which are decided at once', () => {
    const [first, second, third] = [
      enter('exclusive', true),
      enter('exclusive', true),
      enter('shared', true),
    ];
    expect([first.turn, second.turn, third.turn]).to.deep.equal(['asks', undefined, undefined]);
    line.grant(first, lease);
    expect([second.turn, third.turn]).to.deep.equal(['taken', 'taken']);
    line.leave(first);
    expect(enter('exclusive', true).turn).to.equal('asks');
  });

  it('the pending ones are those that wait for the lock, in their order: never one with ifAvailable', () => {
    for (const [mode, ifAvailable] of [
      ['shared', true],
      ['shared', false],
      ['exclusive', false],
      ['shared', false],
    ] as const)
      enter(mode, ifAvailable);
    expect(line.pending).to.deep.equal(['shared', 'exclusive', 'shared']);
  });

  it('a wait in the line resolves with what came of it', async () => {
    enter('exclusive');
    const place = enter('exclusive');
    const waits = place.wait();
    line.leave(place);
    expect(await waits).to.equal('left');
  });
});
