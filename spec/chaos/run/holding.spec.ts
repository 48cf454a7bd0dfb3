import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Lease } from '../../../lib/index.js';
import { type ClientEvent, HistoryFile, nowMs } from './history.js';
import { Holding } from './holding.js';

const TTL_MS = 60_000;
const STILL_MS = 20;

/** A lease whose end can be set; reading it can take long, before or after its clock is read. */
class Stub {
  until = nowMs() + TTL_MS;
  stillBefore = false;
  stillAfter = false;
  readonly signal = new AbortController().signal;
  readonly resources = ['k1'];
  readonly fence = 1;
  readonly ttlMs = TTL_MS;
  readonly status = 'held';

  remainingMs(): number {
    if (this.stillBefore) stand();
    const left = this.until - nowMs();
    if (this.stillAfter) stand();
    return left;
  }
}

function stand(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STILL_MS);
}

describe("chaos run: a holder's reading of its lease", () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'quorate-holding-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function noted(
    act: (lease: Stub, look: () => Promise<void>) => Promise<void>,
  ): Promise<ClientEvent[]> {
    const history = new HistoryFile(folder, 'c1.1');
    const lease = new Stub();
    lease.stillBefore = true; // the first reading is the worst one
    const terms = { id: 'c1.1/1', op: 1, renew: false, history };
    const holding = new Holding(lease as unknown as Lease, terms); // the cast: it has what a Holding reads
    await act(lease, () => holding.watch(1));
    history.close();
    const lines = readFileSync(join(folder, 'c1.1.jsonl'), 'utf8').trim().split('\n');
    return lines.map((line) => JSON.parse(line) as ClientEvent); // the cast: HistoryFile wrote it
  }

  it('a process that is paused while it reads the end does not see it move', async () => {
    const events = await noted(async (lease, look) => {
      for (const [before, after] of [
        [false, false],
        [true, false],
        [false, true],
        [true, true],
        [false, false],
      ]) {
        lease.stillBefore = before === true;
        lease.stillAfter = after === true;
        await look();
      }
    });
    expect(events.map(({ e }) => e)).to.deep.equal(['got']);
  });

  it('an end that moves by 5 ms is noted once, and never as later than it is', async () => {
    let movedTo = 0;
    const events = await noted(async (lease, look) => {
      lease.stillBefore = false;
      await look();
      movedTo = lease.until += 5;
      await look();
      await look();
    });
    expect(events.map(({ e }) => e)).to.deep.equal(['got', 'more']);
    expect(events[1])
      .to.have.property('until')
      .that.is.at.most(movedTo + 0.01);
  });
});
