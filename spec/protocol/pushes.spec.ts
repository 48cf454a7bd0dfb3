import { expect } from 'chai';
import { readPush } from '../../lib/protocol/pushes.js';
import { tokenFrom } from '../simulation/world/seeded.js';

const TOKEN = tokenFrom('ann', '1');
const SERIAL = 1_790_000_000_000_001;

describe('pushes', () => {
  for (const key of ['r', 'invoice 42', ' g 1 x y ', 'two\nlines', 'ü{x}']) {
    it(`of the key ${JSON.stringify(key)}: reserved, given, first, inquiry, asked`, () => {
      const of = { token: TOKEN, key };
      expect(readPush(`g ${SERIAL} ${TOKEN} ${key}`)).to.deep.equal({
        kind: 'given',
        serial: SERIAL,
        claimed: undefined,
        isShared: false,
        ...of,
      });
      expect(readPush(`v ${SERIAL} 12345 9990 77 ${TOKEN} ${key}`)).to.deep.equal({
        kind: 'given',
        serial: SERIAL,
        claimed: { sentMs: 12_345, spanMs: 9_990, fence: 77, slots: '' },
        isShared: false,
        ...of,
      });
      expect(readPush(`i ${SERIAL} ${TOKEN} ${key}`)).to.deep.equal({
        kind: 'inquiry',
        serial: SERIAL,
        ...of,
      });
      expect(readPush(`w ${TOKEN} ${key}`)).to.deep.equal({ kind: 'first', looksNow: false, ...of });
      expect(readPush(`n ${TOKEN} ${key}`)).to.deep.equal({ kind: 'first', looksNow: true, ...of });
      expect(readPush(`h ${TOKEN} ${key}`)).to.deep.equal({ kind: 'asked', ...of });
    });

    it(`of the key ${JSON.stringify(key)}: of a shared lock, the same in capital letters`, () => {
      for (const text of [
        `g ${SERIAL}`,
        `v ${SERIAL} 12345 9990 0`,
        `v ${SERIAL} 12345 9990 p0,3`,
        `i ${SERIAL}`,
        'w',
        'n',
        'h',
      ]) {
        const plain = readPush(`${text} ${TOKEN} ${key}`);
        const shared = readPush(`${text.charAt(0).toUpperCase()}${text.slice(1)} ${TOKEN} ${key}`);
        const wanted = plain?.kind === 'given' ? { ...plain, isShared: true } : plain;
        expect([plain === undefined, shared], text).to.deep.equal([false, wanted]);
      }
    });
  }

  it('a vote for permits has these in place of a fencing token', () => {
    const push = readPush(`V ${SERIAL} 12345 9990 p0,13 ${TOKEN} r`);
    expect(push).to.deep.include({ claimed: { sentMs: 12_345, spanMs: 9_990, fence: 0, slots: '0,13' } });
  });

  for (const text of [
    ...['', 'g', 'w', `g ${SERIAL}`, `g ${SERIAL} ${TOKEN}`, `w ${TOKEN}`, `w ${TOKEN} `, `g x ${TOKEN} r`],
    ...[`g -1 ${TOKEN} r`, `g 1.5 ${TOKEN} r`, `g ${'9'.repeat(17)} ${TOKEN} r`, `x ${TOKEN} r`],
    ...[`v ${SERIAL} ${TOKEN} r`, `v ${SERIAL} 1 2 ${TOKEN} r`, `v ${SERIAL} 1 2 x ${TOKEN} r`],
    ...[
      `v ${SERIAL} ${'9'.repeat(17)} 2 3 ${TOKEN} r`,
      `v ${SERIAL} 1 ${'9'.repeat(17)} 3 ${TOKEN} r`,
      `v ${SERIAL} 1 2 ${'9'.repeat(17)} ${TOKEN} r`,
    ],
    ...[`V ${SERIAL} 1 2 p ${TOKEN} r`, `V ${SERIAL} 1 2 p0, ${TOKEN} r`, `V ${SERIAL} 1 2 p,0 ${TOKEN} r`],
    ...[`f ${TOKEN} r`, `F ${TOKEN} r`, `G ${TOKEN} r`, `V ${SERIAL} ${TOKEN} r`],
    ...[`N ${TOKEN}`, `H ${TOKEN} `, ` w ${TOKEN} r`, `g  ${TOKEN} r`, 'hello'],
  ]) {
    it(`${JSON.stringify(text)} is none`, () => {
      expect(readPush(text)).to.equal(undefined);
    });
  }
});
