import { expect } from 'chai';
import { extension, plainClaim } from '../../lib/protocol/request.js';
import { type SendEntry, SendQueue } from '../../lib/node/send-queue.js';
import { plainScope } from '../support/commands.js';

interface Waiter {
  readonly name: string;
  isWanted: boolean;
  isInTime?: boolean;
}

function environment(names: string): { waiting: SendQueue<Waiter>; waiters: Waiter[]; all(): string } {
  const waiting = new SendQueue<Waiter>();
  const waiters = names.split('').map((name) => ({ name, isWanted: true }));
  for (const waiter of waiters)
    waiting.add({ request: plainClaim(plainScope(waiter.name), waiter.name, 30_000), sink: waiter });
  return { waiting, waiters, all: () => namesOf(waiting.removeAll()) };
}

function namesOf(entries: readonly SendEntry<Waiter>[]): string {
  return entries.map(({ sink }) => sink.name).join('');
}

describe('waiting: requests that were not sent yet', () => {
  it('are taken in their order, as far as there is room, behind those that are ready', () => {
    const { waiting, all } = environment('abcde');
    const ready: SendEntry<Waiter>[] = [];
    waiting.moveTo(ready, 2);
    expect([namesOf(ready), waiting.size]).to.deep.equal(['ab', 3]);
    waiting.moveTo(ready, 3);
    expect([namesOf(ready), all(), waiting.size]).to.deep.equal(['abc', 'de', 0]);
  });

  it('that nobody wants any more are dropped, and take no room', () => {
    const { waiting, waiters, all } = environment('abcd');
    for (const waiter of waiters.slice(0, 2)) waiter.isWanted = false;
    const ready: SendEntry<Waiter>[] = [];
    waiting.moveTo(ready, 1);
    expect([namesOf(ready), all()]).to.deep.equal(['c', 'd']);
  });

  it('are removed by their sink, at any position', () => {
    const { waiting, waiters, all } = environment('abcd');
    const [a, , c, d] = waiters as [Waiter, Waiter, Waiter, Waiter];
    expect([waiting.remove(c), waiting.remove(c), waiting.remove(a), waiting.remove(d)]).to.deep.equal([
      true,
      false,
      true,
      true,
    ]);
    expect(all()).to.equal('b');
  });

  it('whose time is up are removed together; those without a time stay', () => {
    const { waiting, waiters, all } = environment('abcd');
    expect(namesOf(waiting.removeOverdue())).to.equal('');
    for (const [i, isInTime] of [false, true, false].entries()) Object.assign(waiters[i] ?? {}, { isInTime });
    expect(namesOf(waiting.removeOverdue())).to.equal('ac');
    expect([waiting.size, all()]).to.deep.equal([2, 'bd']);
  });

  describe('renewals before others', () => {
    /** Renewals in capitals. */
    function mixed(names: string): ReturnType<typeof environment> {
      const bench = environment('');
      for (const name of names) {
        const waiter = { name, isWanted: true };
        const scope = plainScope(name);
        const request =
          name === name.toUpperCase()
            ? extension(scope, name, { ttlMs: 30_000, mayCreate: true })
            : plainClaim(scope, name, 30_000);
        bench.waiters.push(waiter);
        bench.waiting.add({ request, sink: waiter });
      }
      return bench;
    }

    it('they are taken first, in their order', () => {
      const { waiting, all } = mixed('aBcD');
      const ready: SendEntry<Waiter>[] = [];
      waiting.moveTo(ready, 1);
      expect([namesOf(ready), waiting.size]).to.deep.equal(['B', 3]);
      waiting.moveTo(ready, 3);
      expect([namesOf(ready), all(), all(), waiting.size]).to.deep.equal(['BDa', 'c', '', 0]);
    });

    it('all are taken at once', () => {
      const { waiting, all } = mixed('aBcD');
      expect([all(), all(), waiting.size]).to.deep.equal(['BDac', '', 0]);
    });

    it('they are removed by their sink', () => {
      const { waiting, waiters, all } = mixed('aBcD');
      const [, second] = waiters;
      if (second === undefined) throw new Error('there are four');
      expect([waiting.remove(second), waiting.remove(second), all()]).to.deep.equal([true, false, 'Dac']);
    });

    it('those whose time is up are removed', () => {
      const { waiting, waiters, all } = mixed('aBcD');
      for (const waiter of waiters.slice(0, 2)) waiter.isInTime = false;
      expect([namesOf(waiting.removeOverdue()), all()]).to.deep.equal(['Ba', 'Dc']);
    });
  });

  it('are removed alone, wherever they are', () => {
    for (const [i, left] of ['bcd', 'acd', 'abd', 'abc'].entries()) {
      const { waiting, waiters, all } = environment('abcd');
      const [waiter] = waiters.slice(i);
      expect(waiter !== undefined && waiting.remove(waiter)).to.equal(true);
      expect(all()).to.equal(left);
    }
  });
});
