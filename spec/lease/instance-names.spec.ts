/** What is known of other instances: how often masters are asked, and what is remembered. */
import { expect } from 'chai';
import { InstanceNames, MOST_KNOWN } from '../../lib/lease/instance-names.js';
import { clientKey, noteKey } from '../../lib/protocol/keys.js';
import type { Request } from '../../lib/protocol/request.js';
import type { SurveyHooks } from '../../lib/quorum/survey.js';
import { answered, SILENT } from '../support/fake-coordination.js';
import { FakeTime } from '../support/fake-time.js';

const WITHIN_MS = 200;

/** @param texts  by key; each master has the same, but those that are silent */
function bench(texts: Record<string, string>, silent: readonly number[] = []) {
  const time = new FakeTime();
  const asked: string[] = [];
  const awaited: number[] = [];
  const survey = (request: Request, _timeoutMs: number, { isEnough = () => false }: SurveyHooks = {}) => {
    const [key = ''] = request.command.args;
    asked.push(key);
    const answers = [];
    for (let i = 0; i < 3; i++) {
      answers.push(silent.includes(i) ? SILENT : answered(texts[key] ?? null));
      if (isEnough(answers)) break;
    }
    awaited.push(answers.length);
    return Promise.resolve(answers);
  };
  return { time, asked, awaited, names: new InstanceNames({ survey, quorum: 2 }, time, '') };
}

describe('the names of instances', () => {
  it('N=3: the first record will do; without one, a quorum that has none', async () => {
    const { awaited, names } = bench({ [clientKey('', 'a')]: '{"label":"api-3"}' });
    await names.learn(['a'], WITHIN_MS);
    await names.learn(['b'], WITHIN_MS);
    expect(awaited).to.deep.equal([1, 2]);
    expect([names.of('a'), names.of('b')]).to.deep.equal([{ id: 'a', label: 'api-3' }, { id: 'b' }]);
    const behind = bench({ [clientKey('', 'a')]: '{"label":"api-3"}' }, [0, 1]);
    await behind.names.learn(['a'], WITHIN_MS);
    expect(behind.names.of('a').label).to.equal('api-3');
  });

  it('each is asked for once in half a minute, also by several at a time; one that is not there, each time', async () => {
    const { asked, names, time } = bench({ [clientKey('', 'a')]: '{"label":"api-3"}' });
    await Promise.all([names.learn(['a', 'a'], WITHIN_MS), names.learn(['a'], WITHIN_MS)]);
    await names.learn(['a'], WITHIN_MS);
    expect(asked).to.have.length(1);
    await time.advance(30_000);
    await names.learn(['a'], WITHIN_MS);
    expect(asked).to.have.length(2);
    await names.learn(['b'], WITHIN_MS);
    await names.learn(['b'], WITHIN_MS);
    expect(asked).to.have.length(4);
  });

  it('an instance that is gone keeps the name by which it was known', async () => {
    const texts: Record<string, string> = { [clientKey('', 'a')]: '{"label":"api-3"}' };
    const { names, time } = bench(texts);
    await names.learn(['a'], WITHIN_MS);
    delete texts[clientKey('', 'a')];
    await time.advance(600_000);
    await names.learn(['a'], WITHIN_MS);
    expect(names.of('a').label).to.equal('api-3');
  });

  it(`remembers ${MOST_KNOWN}, the latest`, async () => {
    const texts: Record<string, string> = {};
    for (let i = 0; i <= MOST_KNOWN; i++) texts[clientKey('', `c${i}`)] = `{"label":"l${i}"}`;
    const { names } = bench(texts);
    for (let i = 0; i <= MOST_KNOWN; i++) await names.learn([`c${i}`], WITHIN_MS);
    expect([names.of('c0').label, names.of('c1').label]).to.deep.equal([undefined, 'l1']);
  });

  it('a note is read each time; an empty, a long or an odd one is none', async () => {
    for (const [text, note] of [
      ['import 42', 'import 42'],
      ['', undefined],
      ['a\u001B', undefined],
      ['x'.repeat(257), undefined],
    ] as const) {
      const { names } = bench({ [noteKey('r', '0123456789')]: text });
      expect(await names.note('r', '0123456789', WITHIN_MS)).to.equal(note);
    }
  });
});
