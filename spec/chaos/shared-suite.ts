/**
 * Readers, writers and holders of permits in separate processes, while a minority of the masters is killed or frozen: a
 * writer is alone, no more permits are held than there are, everybody makes progress, and nothing is left.
 */
import { expect } from 'chai';
import { Program } from '../support/real.js';
import { Bench } from './kit/bench.js';
import type { ChaosBackend, ChaosMaster } from './kit/masters.js';
import { eventually, within } from './kit/stage.js';

const PERMITS = 3;
const CLIENTS = 4;
const TURNS = 40;
const ENDS_MS = 150_000;
/** How many more holds there are between two blows. */
const TURNS_BETWEEN = 12;

/** One hold of a process, by CLOCK_MONOTONIC in ms: the same for all processes of a machine. */
interface Holding {
  readonly how: 'read' | 'write' | 'permits';
  readonly permits: number;
  readonly fromMs: number;
  readonly toMs: number;
}

const BLOWS = {
  killed: [(master: ChaosMaster) => master.kill(), (master: ChaosMaster) => master.restart('kept')],
  frozen: [(master: ChaosMaster) => master.freeze(), (master: ChaosMaster) => master.thaw()],
} as const;

/** @param sizes  each backend takes what its time allows */
export function sharedSuite(backend: ChaosBackend, sizes: readonly number[]): void {
  for (const nodes of sizes) {
    describe(`chaos with readers, writers and permits, over ${nodes} masters (${backend})`, function () {
      this.timeout(600_000);
      const bench = new Bench(nodes);
      const programs: Program[] = [];
      before(() => bench.start(backend));
      after(() => bench.stop());
      afterEach(async () => {
        for (const program of programs.splice(0)) program.kill();
        await bench.close();
      });
      for (const [how, [strike, heal]] of Object.entries(BLOWS)) {
        it(`a minority is ${how} again and again, another one each time, and a client is killed`, async () => {
          const resource = bench.resource();
          const crew = Array.from({ length: CLIENTS }, () => {
            const program = new Program('share', bench.urls, resource, String(PERMITS), String(TURNS));
            programs.push(program);
            return program;
          });
          const few = (nodes - 1) / 2;
          const [victim] = crew;
          for (let blow = 0; blow < 3; blow++) {
            await turns(crew, (blow + 1) * TURNS_BETWEEN);
            const struck = bench.list.filter((_, i) => (i + blow) % nodes < few);
            await Promise.all(struck.map(strike));
            if (blow === 1) victim?.kill();
            await turns(crew.slice(1), (blow + 1) * TURNS_BETWEEN + TURNS_BETWEEN / 2);
            await Promise.all(struck.map(heal));
          }
          for (const program of crew.slice(1))
            await eventually('its end', () => program.said.includes('done'), ENDS_MS);
          const holdings = crew.flatMap((program) =>
            program.said.map(readHolding).filter((one) => one !== undefined),
          );
          expect(holdings.length).to.be.at.least((CLIENTS - 1) * TURNS * 0.8);
          expect(new Set(holdings.map((one) => one.how)).size).to.equal(3);
          expect(meetings(holdings)).to.deep.equal([]);
          expect(mostPermits(holdings)).to.be.within(2, PERMITS);
          await bench.untilEmpty();
        });
      }
    });
  }
}

/** Resolves when all of them together have held it this many times each, on average. */
async function turns(crew: readonly Program[], each: number): Promise<void> {
  const isFar = (): boolean => {
    const said = crew.reduce((sum, program) => sum + program.said.length, 0);
    return said >= Math.min(each, TURNS - 5) * crew.length * 0.8;
  };
  const wait = async (): Promise<void> => {
    while (!isFar()) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  await within('the clients to go on', ENDS_MS, wait());
}

function readHolding(line: string): Holding | undefined {
  const [, how, permits, fromMs, toMs] =
    /^held (read|write|permits) (\d) ([\d.]+) ([\d.]+)$/.exec(line) ?? [];
  if (how === undefined) return undefined;
  return { how: how as Holding['how'], permits: Number(permits), fromMs: Number(fromMs), toMs: Number(toMs) };
}

/** Writers that overlapped with anybody. */
function meetings(holdings: readonly Holding[]): string[] {
  const shared = holdings.filter(({ how }) => how !== 'permits');
  return shared
    .filter(({ how }) => how === 'write')
    .flatMap((writer) =>
      shared
        .filter((one) => one !== writer && one.fromMs < writer.toMs && writer.fromMs < one.toMs)
        .map((one) => `${one.how} ${one.fromMs}–${one.toMs} beside write ${writer.fromMs}–${writer.toMs}`),
    );
}

function mostPermits(holdings: readonly Holding[]): number {
  const steps = holdings
    .filter(({ how }) => how === 'permits')
    .flatMap(({ permits, fromMs, toMs }) => [
      { atMs: fromMs, change: permits },
      { atMs: toMs, change: -permits },
    ])
    .sort((a, b) => a.atMs - b.atMs || a.change - b.change);
  let held = 0;
  return steps.reduce((most, { change }) => Math.max(most, (held += change)), 0);
}
