import { expect } from 'chai';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ledger, readLedger } from '../../../examples/jobs/ledger.js';
import { effectOf, lease, staleOf } from './synthetic.js';

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
    expect(ledger.isDone(0)).to.equal(false);
    expect(ledger.write(effectOf(lease()))).to.equal('first');
    expect(ledger.isDone(0)).to.equal(true);
    expect(ledger.isDone(1)).to.equal(false);
    expect(ledger.doneCount).to.equal(1);
  });

  it('tells a second effect of a job and keeps it: the file counts what exclusion gave', () => {
    const [one, two] = [effectOf(lease()), effectOf(lease({ worker: 'w2' }))];
    ledger.write(one);
    expect(ledger.write(two)).to.equal('second');
    expect(ledger.doneCount).to.equal(1);
    expect(readLedger(path)).to.deep.equal([one, two]);
  });

  it('notes a stale effect and does not take it for one', () => {
    const stale = staleOf(lease());
    ledger.writeStale(stale);
    expect(ledger.isDone(0)).to.equal(false);
    expect(readLedger(path)).to.deep.equal([stale]);
  });

  it('has each entry in the file as soon as it is written', () => {
    ledger.write(effectOf(lease()));
    expect(readFileSync(path, 'utf8')).to.match(/^{.*}\n$/);
  });
});
