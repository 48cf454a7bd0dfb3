import { expect } from 'chai';
import { WAIT_LENGTHS } from '../../lib/telemetry/wait-times.js';
import { MOST_LEASES, readRecord, recordText } from '../../lib/lease/instance-record.js';

const INFO = { id: 'me', label: 'api-3', host: 'db', pid: 7, version: '1.2.3', startedAt: 1_790_000_000_000 };
const HOLDER = '0123456789';
const READER = 'abcdef0123';
const COUNTS = { ageMs: 60_000, acquired: 4, lost: 1, waits: [3, 0, 1] };
const NOTHING = { held: new Map(), beat: 0, waits: [], counts: undefined };

describe('the record of an instance: what is read', () => {
  it('what was written, without the id, which its key has', () => {
    const text = recordText(INFO, {
      held: [
        { holder: HOLDER, fence: 5 },
        { holder: READER, sinceMs: 7 },
      ],
      beat: 3,
      waits: [],
      counts: COUNTS,
    });
    expect(text).to.not.contain('"id"');
    expect(readRecord('me', text)).to.deep.equal({
      ...{
        info: INFO,
        held: new Map([
          [READER, { sinceMs: 7 }],
          [HOLDER, { fence: 5 }],
        ]),
        beat: 3,
      },
      ...{ waits: [], counts: COUNTS },
    });
  });

  it(`at most ${MOST_LEASES} leases, and short enough to be read`, () => {
    const held = Array.from({ length: 100 }, (_, i) => ({
      holder: i.toString(16).padStart(10, '0'),
      fence: 1_790_000_000_000_000 + i,
    }));
    const widest = { ...INFO, label: '"'.repeat(128), host: '"'.repeat(128), version: '1'.repeat(128) };
    const most = Number.MAX_SAFE_INTEGER;
    const waits = Array.from({ length: WAIT_LENGTHS }, () => most);
    const counts = { ageMs: most, acquired: most, lost: most, waits };
    const read = readRecord('me', recordText(widest, { held, beat: most, waits: [], counts }));
    expect([read?.held.size, read?.counts]).to.deep.equal([MOST_LEASES, counts]);
  });

  it('whatever else is there: what is odd is left out', () => {
    for (const text of ['', 'x', '5', 'null', '{', `{"label":"${'x'.repeat(5_000)}"}`])
      expect(readRecord('me', text), text.slice(0, 9)).to.equal(undefined);
    const odd = {
      ...{ label: '\u001B[2J', host: '', pid: -1, version: 'a\nb', startedAt: '5' },
      held: { [HOLDER]: 0, token: 5, 'abc:def': 7, 0: 1 },
      since: { [HOLDER]: -1, [READER]: '5', token: 5 },
    };
    expect(readRecord('me', JSON.stringify(odd))).to.deep.equal({ info: { id: 'me' }, ...NOTHING });
    expect(readRecord('me', '{"held":5,"since":[7]}')?.held.size).to.equal(0);
    for (const counts of [
      ...[5, null, {}, { ...COUNTS, acquired: -1 }, { ...COUNTS, lost: '1' }, { ...COUNTS, ageMs: 1e300 }],
      ...[
        { ...COUNTS, waits: 'x' },
        { ...COUNTS, waits: [1, null] },
        { ...COUNTS, waits: [0.5] },
      ],
      { ...COUNTS, waits: Array.from({ length: WAIT_LENGTHS + 1 }, () => 1) },
    ])
      expect(readRecord('me', JSON.stringify({ counts }))?.counts, JSON.stringify(counts)).to.equal(
        undefined,
      );
    expect(readRecord('me', '[]')?.info).to.deep.equal({ id: 'me' });
  });
});
