/** `SET` on a master in memory, with the options that quorate uses, against what Redis documents. */
import { expect } from 'chai';
import { Keyspace } from '../../lib/testing/master/keyspace.js';
import { PLAIN_COMMANDS } from '../../lib/testing/master/plain-commands.js';
import type { Store } from '../../lib/testing/master/store.js';

describe('masters in memory: SET', () => {
  const cases: readonly [
    before: string | undefined,
    options: readonly string[],
    reply: unknown,
    after: unknown,
  ][] = [
    [undefined, [], 'OK', ['new', -1]],
    ['old', [], 'OK', ['new', -1]],
    ['old', ['PX', '500'], 'OK', ['new', 500]],
    [undefined, ['PX', '500', 'NX'], 'OK', ['new', 500]],
    ['old', ['PX', '500', 'NX'], null, ['old', -1]],
    [undefined, ['XX'], null, [undefined, -2]],
    ['old', ['PX', '500', 'XX'], 'OK', ['new', 500]],
  ];
  for (const [before, options, reply, after] of cases) {
    it(`${before ?? 'no key'}, SET ${['k', 'new', ...options].join(' ')}: ${String(reply)}`, () => {
      const store = new Keyspace(() => 1_000);
      if (before !== undefined) store.set('k', before, 'none');
      // the command reads keys only
      expect(PLAIN_COMMANDS.set(store as unknown as Store, ['k', 'new', ...options])).to.equal(reply);
      expect([store.get('k'), store.pttl('k')]).to.deep.equal(after);
    });
  }
});
