import { expect } from 'chai';
import { readPush } from '../../lib/protocol/pushes.js';
import { tokenFrom } from '../simulation/world/seeded.js';

const TOKEN = tokenFrom('ann', '1');
const SERIAL = 1_790_000_000_000_001;

describe('pushes', () => {
  for (const key of ['r', 'invoice 42', ' g 1 x y ', 'two\nlines', 'ü{x}']) {
    it(`of the key ${JSON.stringify(key)}: reserved, first, inquiry`, () => {
      const of = { token: TOKEN, key };
      expect(readPush(`g ${SERIAL} ${TOKEN} ${key}`)).to.deep.equal({
        kind: 'reserved',
        serial: SERIAL,
        ...of,
      });
      expect(readPush(`i ${SERIAL} ${TOKEN} ${key}`)).to.deep.equal({
        kind: 'inquiry',
        serial: SERIAL,
        ...of,
      });
      expect(readPush(`w ${TOKEN} ${key}`)).to.deep.equal({ kind: 'first', ...of });
    });
  }

  for (const text of [
    ...['', 'g', 'w', `g ${SERIAL}`, `g ${SERIAL} ${TOKEN}`, `w ${TOKEN}`, `w ${TOKEN} `, `g x ${TOKEN} r`],
    ...[`g -1 ${TOKEN} r`, `g 1.5 ${TOKEN} r`, `g ${'9'.repeat(17)} ${TOKEN} r`, `x ${TOKEN} r`],
    ...[`W ${TOKEN} r`, ` w ${TOKEN} r`, `g  ${TOKEN} r`, 'hello'],
  ]) {
    it(`${JSON.stringify(text)} is none`, () => {
      expect(readPush(text)).to.equal(undefined);
    });
  }
});
