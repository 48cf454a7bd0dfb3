/** Labels and notes: what is refused before anything is sent, so that a terminal and a page show what is there. */
import { expect } from 'chai';
import { isLabel, isNote, resolveLabel, resolveNote } from '../../lib/input/texts.js';
import { fakeCluster } from '../support/fake-cluster.js';
import { rejection, thrown } from '../support/rejection.js';

const UNSHOWN = [
  '\u0000',
  '\u001B[2J',
  'a\nb',
  '\u007F',
  '\u009B31m',
  '\u2028',
  '\u202Egnp',
  '\u2066',
  '\uD800',
];

describe('labels and notes', () => {
  for (const text of UNSHOWN) {
    it(`${JSON.stringify(text)} is refused in both`, async () => {
      expect(thrown(() => resolveLabel(text)).code).to.equal('INVALID_ARGUMENT');
      expect(thrown(() => fakeCluster(3, { label: text })).message).to.match(/^label must be /);
      const { masters, redlock } = fakeCluster(3);
      expect((await rejection(redlock.acquire('r', { note: text }))).message).to.match(/^note must be /);
      expect(masters.map(({ sent }) => sent.length)).to.deep.equal([0, 0, 0]);
    });
  }

  it('a label has 1 to 128 characters', () => {
    for (const good of ['a', 'api-3:4711', 'ü'.repeat(128), '<b>', "'; --"])
      expect(resolveLabel(good)).to.equal(good);
    for (const bad of ['', 'a'.repeat(129), 5, null, true, {}])
      expect(thrown(() => resolveLabel(bad)).code).to.equal('INVALID_ARGUMENT');
    expect([resolveLabel(undefined), resolveLabel(false)]).to.deep.equal([true, false]);
    expect([isLabel(''), isLabel('x')]).to.deep.equal([false, true]);
  });

  it('a note has up to 256 bytes of UTF-8', () => {
    for (const good of ['', 'import 42', 'ü'.repeat(128)]) expect(resolveNote(good)).to.equal(good);
    for (const bad of ['ü'.repeat(129), 'a'.repeat(257), 5, null, false])
      expect(thrown(() => resolveNote(bad)).code).to.equal('INVALID_ARGUMENT');
    expect(resolveNote(undefined)).to.equal('');
    expect(isNote('a'.repeat(257))).to.equal(false);
  });

  it('a note is of a call, a label of an instance', async () => {
    const { redlock } = fakeCluster(3);
    expect((await rejection(redlock.acquire('r', { label: 'x' } as object))).message).to.match(
      /whole instance/,
    );
    expect(thrown(() => fakeCluster(3, { note: 'x' } as object)).message).to.match(
      /^note .*is not an option here/,
    );
    const election = redlock.election('e');
    expect((await rejection(election.campaign('v', { note: 'x' } as object))).code).to.equal(
      'INVALID_ARGUMENT',
    );
  });
});
