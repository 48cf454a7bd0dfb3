import { expect } from 'chai';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ledger, readLedger } from '../../../examples/jobs/ledger.js';
import { accepted, effectOf, lateEffectOf, lease, refused } from './synthetic.js';

describe('examples/jobs: the ledger', () => {
  let folder: string;
  let path: string;
  let ledger: Ledger;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quorate-ledger-'));
    path = join(folder, 'ledger.ndjson');
    ledger = new Ledger(path);
  });

  afterEach(() => {
    ledger.close();
    rmSync(folder, { recursive: true });
  });

  it('knows a job as done from its first effect on', () => {
    expect(ledger.ask(0, 1)).to.equal('open');
    expect(ledger.write(effectOf(lease()))).to.equal('first');
    expect(ledger.ask(0, 1)).to.equal('done');
    expect(ledger.ask(1, 1)).to.equal('open');
    expect(ledger.doneCount).to.equal(1);
  });

  it('accepts a second effect under an equal or a higher fence, tells it and keeps it: it is counted', () => {
    const effects = [1, 1, 2].map((fence) => effectOf(lease({ fence })));
    expect(effects.map((each) => ledger.write(each))).to.deep.equal(['first', 'second', 'second']);
    expect(ledger.doneCount).to.equal(1);
    expect(readLedger(path)).to.deep.equal(effects.map(accepted));
  });

  it('has each entry in the file as soon as it is written', () => {
    ledger.write(effectOf(lease()));
    expect(readFileSync(path, 'utf8')).to.match(/^{.*}\n$/);
  });

  describe('with holders of fence 1 and fence 2 on one job', () => {
    const [early, next] = [lease(), lease({ worker: 'w2', fence: 2 })];

    it('refuses the late effect of the first after the second’s effect, and keeps it as stale', () => {
      ledger.ask(0, 2);
      expect(ledger.write(effectOf(next))).to.equal('first');
      expect(ledger.write(lateEffectOf(early))).to.equal('stale');
      expect(ledger.doneCount).to.equal(1);
      expect(readLedger(path)).to.deep.equal([accepted(effectOf(next)), refused(lateEffectOf(early))]);
    });

    it('refuses it from the second’s question on, before the second has any effect', () => {
      ledger.ask(0, 1);
      expect(ledger.ask(0, 2)).to.equal('open');
      expect(ledger.write(lateEffectOf(early))).to.equal('stale');
      expect(ledger.doneCount).to.equal(0);
      expect(ledger.write(effectOf(next))).to.equal('first');
    });

    it('refuses the first’s late question too', () => {
      ledger.ask(0, 2);
      expect(ledger.ask(0, 1)).to.equal('stale');
    });

    it('refuses by the fence alone, also when the lease had said “held”', () => {
      ledger.ask(0, 2);
      expect(ledger.write(effectOf(early))).to.equal('stale');
    });

    it('accepts the late effect before the second asks; the second hears that the job is done', () => {
      ledger.ask(0, 1);
      expect(ledger.write(lateEffectOf(early))).to.equal('first');
      expect(ledger.ask(0, 2)).to.equal('done');
    });

    it('gives one effect in every order of their questions and effects, when each asks before it works', () => {
      for (const order of ['1122', '1212', '1221', '2112', '2121', '2211']) {
        const job = Number(order); // one of its own
        const results = new Map<string, string>();
        const effects = order.split('').filter((holder) => {
          const answer = results.get(holder);
          if (answer === undefined) {
            results.set(holder, ledger.ask(job, Number(holder)));
            return false;
          }
          return (
            answer === 'open' && ledger.write(effectOf(lease({ job, fence: Number(holder) }))) !== 'stale'
          );
        });
        expect(effects, order).to.have.length(1);
      }
    });

    it('keeps the jobs apart', () => {
      ledger.ask(1, 2);
      expect(ledger.write(effectOf(early))).to.equal('first');
    });
  });
});
