import { expect } from 'chai';
import {
  clientKey,
  counterKey,
  noteKey,
  pushChannel,
  queueKey,
  recordKey,
  RESERVED,
  turnKey,
  valueKey,
  hashTag,
} from '../../lib/protocol/keys.js';
import { publicPart, SystemRandom } from '../../lib/runtime/random.js';
import { SCRIPTS } from '../../lib/protocol/lua/scripts.js';

const KINDS = {
  fence: counterKey,
  queue: queueKey,
  turn: turnKey,
  value: valueKey,
  record: recordKey,
} as const;
const NAMES = ['x', '{x}', 'a{x}b', '{}x', 'a{}b', 'x}', '{x', '{{x}}', 'invoice 42'];

describe('keys: the names of keys beside a lock', () => {
  for (const [kind, nameOf] of Object.entries(KINDS)) {
    it(`${kind}: under a name of ours; a key with a hash tag of its own keeps it`, () => {
      expect(nameOf('x')).to.equal(`quorate:${kind}:{x}`);
      expect(nameOf('{x}')).to.equal(`quorate:tagged:${kind}:{x}`);
      expect(nameOf('a{x}b')).to.equal(`quorate:tagged:${kind}:a{x}b`);
      expect(nameOf('{}x')).to.equal(`quorate:${kind}:{{}x}`);
    });
  }

  it('no two resources share one, and no two kinds do', () => {
    const all = NAMES.flatMap((key) => Object.values(KINDS).map((nameOf) => nameOf(key)));
    expect(new Set(all).size).to.equal(all.length);
    expect(all.every((name) => name.startsWith(RESERVED))).to.equal(true);
  });

  it('all keys of a resource are in one hash slot, if any is', () => {
    for (const key of NAMES) {
      const tags = new Set(Object.values(KINDS).map((nameOf) => hashTag(nameOf(key))));
      expect(tags.size, key).to.equal(1);
      if (!key.includes('}')) expect([...tags]).to.deep.equal([key]);
    }
  });

  it('a note: in the slot of its lock, and one for each holder', () => {
    const holders = ['0123456789', 'abcdef0123'];
    const all = NAMES.flatMap((key) => holders.map((holder) => noteKey(key, holder)));
    expect(new Set(all).size).to.equal(all.length);
    for (const key of NAMES) expect(hashTag(noteKey(key, '0123456789'))).to.equal(hashTag(counterKey(key)));
    expect(noteKey('x', '0123456789')).to.equal('quorate:note:{x}:0123456789');
  });

  it('the record of an instance: by its public part and the prefix', () => {
    expect(clientKey('', 'Ab_-1234')).to.equal('quorate:client:{Ab_-1234}');
    expect(clientKey('app:', 'Ab_-1234')).to.equal('quorate:client:app:{Ab_-1234}');
  });

  it('the channel of a token names its client, and no secret', () => {
    const token = new SystemRandom().token();
    expect(pushChannel(token)).to.equal(`quorate:push:${publicPart(token)}`);
    expect(pushChannel(token)).to.have.lengthOf('quorate:push:'.length + 8);
  });
});

// a server that looks through scripts, as hosted ones do, refuses what it cannot see to be a declared key
describe('keys in scripts: declared, and used in place', () => {
  /** By what a script calls: its first argument. */
  const CALL = /redis\.p?call\((?:'(?!TIME|INFO|PUBLISH)\w+'|fence == 1 and 'DEL' or 'DECR'), ?([^,)]+)/g;

  for (const { name, source } of SCRIPTS) {
    it(`${name}: no key has another name, and none comes from elsewhere`, () => {
      expect(source).to.not.match(/=\s*KEYS\b/);
      const firsts = [...source.matchAll(CALL)].map(([, first = '']) => first);
      expect(firsts.filter((first) => !/^KEYS\[[^\]]+\]$|^unpack\(KEYS$/.test(first))).to.deep.equal([]);
      const calls = source.match(/redis\.p?call\((?!'(?:TIME|INFO|PUBLISH)')/g) ?? [];
      expect(firsts).to.have.lengthOf(calls.length);
    });
  }
});
