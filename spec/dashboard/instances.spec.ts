/** What instances publish about themselves, and what is made of it. */
import { expect } from 'chai';
import { Instances } from '../../lib/dashboard/instances.js';
import { recordText } from '../../lib/lease/instance-record.js';
import { clientKey, noteKey } from '../../lib/protocol/keys.js';
import { FakeTime } from '../support/fake-time.js';
import { FakeReader, holderRead, lockRead } from './support.js';

const COUNTS = { ageMs: 5, acquired: 4, lost: 1, waits: [3, 0, 1] };

describe('what instances publish: N=2', () => {
  const reads = [new Map([['x', lockRead({ holders: [holderRead('0123456789', { client: 'c1' })] })]])];
  let time: FakeTime;
  let readers: readonly FakeReader[];
  let instances: Instances;
  const learn = (watched: readonly string[] = []): ReturnType<Instances['learn']> =>
    instances.learn(readers, reads, new Set(watched));
  const write = (text: string): void => void readers[1]?.written.set(clientKey('', 'c1'), text);

  beforeEach(() => {
    time = new FakeTime();
    readers = [new FakeReader('a'), new FakeReader('b')];
    instances = new Instances('', time);
  });

  it('a record, from the first master that has one: label, host, process, and when its leases were granted', async () => {
    const facts = { label: 'api-3', host: 'web1', pid: 7, version: '1' };
    write(JSON.stringify({ ...facts, held: { '0123456789': 5_000 }, since: { abcdef0123: 7 } }));
    const { grants, instances: known } = await learn();
    expect(known.get('c1')).to.deep.equal({ label: 'api-3', host: 'web1', pid: 7 });
    expect([...grants]).to.have.deep.members([
      ['0123456789', { fence: 5_000 }],
      ['abcdef0123', { sinceMs: 7 }],
    ]);
  });

  it('it is asked for again after five seconds, and not before', async () => {
    await learn();
    await time.advance(4_999);
    await learn();
    expect(readers[0]?.asked.texts).to.equal(1);
    write(JSON.stringify({ label: 'late' }));
    await time.advance(1);
    expect((await learn()).instances.get('c1')).to.deep.equal({ label: 'late' });
  });

  it('an instance that a scan has found, and that holds nothing: its record is read until it is gone', async () => {
    const idle = 'idle-123';
    const key = clientKey('', idle);
    readers[0]?.written.set(
      key,
      recordText({ id: idle, label: 'idle' }, { held: [], beat: 1, waits: [], counts: COUNTS }),
    );
    instances.found([idle, 'no id', '']);
    expect((await learn()).counts.get(idle)).to.deep.equal(COUNTS);
    readers[0]?.written.delete(key);
    await time.advance(5_000);
    expect([...(await learn()).counts]).to.deep.include([idle, undefined]);
    await time.advance(5_000);
    expect([...(await learn()).counts.keys()]).to.deep.equal(['c1']);
  });

  it('a note, of the locks that somebody looks at', async () => {
    readers[0]?.written.set(noteKey('x', '0123456789'), 'import 42');
    expect([...(await learn()).notes]).to.deep.equal([]);
    expect([...(await learn(['x'])).notes]).to.deep.equal([['0123456789', 'import 42']]);
  });

  for (const odd of [
    '',
    '{',
    'null',
    '[]',
    '{"label":1,"host":{},"pid":"x","held":[{}]}',
    `{"label":"${'x'.repeat(5_000)}"}`,
  ])
    it(`an odd record (${odd.slice(0, 30)}): nothing is known, and nothing fails`, async () => {
      write(odd);
      expect((await learn()).instances.get('c1')).to.deep.equal({});
    });

  it('a label with characters that turn or end a line is left out', async () => {
    write(JSON.stringify({ label: 'a\u202Eb\nc\u0000' }));
    expect((await learn()).instances.get('c1')).to.deep.equal({});
  });
});
