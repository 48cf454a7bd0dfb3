import { expect } from 'chai';
import { commandsFor, type Feature, rulesFor } from '../../lib/diagnosis/rights.js';
import { RIGHTS } from '../../lib/protocol/lua/scripts.js';
import { rightsOf } from '../support/documented-rights.js';

const FEATURES: readonly Feature[] = ['exclusive', 'shared', 'plain'];
const ADDED: readonly Feature[] = ['guard', 'select'];
/** What a set of rights says of the user itself. */
const OF_THE_USER = ['reset', 'on', '>password'];

describe('rights', () => {
  for (const feature of FEATURES) {
    it(`${feature}: the same as in docs/OPERATION.md, which a spec runs on real servers`, () => {
      const documented = rightsOf(feature).filter((rule) => !OF_THE_USER.includes(rule));
      expect(rulesFor([feature], 'lock:')).to.have.members(documented);
    });
  }

  for (const feature of ADDED) {
    it(`${feature}: adds what docs/OPERATION.md adds`, () => {
      const before = new Set(rulesFor(['exclusive'], ''));
      const added = rulesFor(['exclusive', feature], '').filter((rule) => !before.has(rule));
      expect(added).to.have.members([...rightsOf(feature)]);
    });
  }

  it('the question to the masters knows each of them: what it does not know, it never reports as missing', () => {
    const known = [...RIGHTS.source.matchAll(/\b(\w+) = \{/g)].map(([, name]) => name);
    expect(known).to.include.members([...commandsFor([...FEATURES, ...ADDED])]);
  });

  it('rights of several features are put together, each once; without a prefix all keys are allowed', () => {
    const rules = rulesFor(['exclusive', 'shared'], '');
    expect(new Set(rules).size).to.equal(rules.length);
    expect(rules).to.include.members(['~*', '+mget', '+hset']);
  });
});
