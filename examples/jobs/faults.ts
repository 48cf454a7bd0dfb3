/**
 * The fault plan: four faults, one after another. Each begins and ends at something that a worker tells, and checks that
 * it was what it was meant to be.
 */
import type { Master } from '../../scripts/masters.js';
import type { Crew } from './crew.js';
import { type Events, NotAsPlanned, type Told } from './events.js';
import type { Claim, History } from './history.js';
import type { RunClock } from './run-clock.js';

interface Span {
  readonly target: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A worker was struck in the middle of a job, and another one did the job. */
interface Handed extends Span {
  readonly job: number;
  readonly takenBy: string;
  /** From the blow to the grant of the lease that took the job over. */
  readonly takeoverMs: number;
}

export type Fault =
  /** `hit`: the acquisition that was under way at the kill; undefined when it missed, then it is done again. */
  | ({ readonly kind: 'master-killed'; readonly hit: Claim | undefined } & Span)
  | ({ readonly kind: 'master-frozen' } & Span)
  | ({ readonly kind: 'worker-killed' } & Handed)
  | ({
      readonly kind: 'worker-paused';
      readonly resumedMs: number;
      /** What its lease said when it sent its late effect, which the ledger refused: an error's code. */
      readonly leaseSaid: string;
    } & Handed);

export type FaultKind = Fault['kind'];

/** What a fault is done to, and with. */
export interface Stage {
  readonly masters: readonly Master[];
  readonly crew: Crew;
  readonly events: Events;
  readonly history: History;
  readonly now: RunClock;
  readonly ttlMs: number;
  /** Rejects with the reason of the run's end. */
  sleep(ms: number): Promise<void>;
  /** Opens one more job, if there is one. */
  openJob(): void;
  say(text: string): void;
  /** Keeps it for the summary and the picture. */
  record(fault: Fault): void;
}

/**
 * How long the workers dawdle in an acquisition, from one try to the next. Mostly the first kill hits an acquisition of
 * one or two ms; on a busy machine the acquisitions are drawn out until one does.
 */
const DAWDLE_MS = [0, 20, 50, 100];
/** What is told just before the end of a fault may still be on its way to us. */
const MAIL_MS = 50;
/** A worker that is struck must have this much of its work before it, or the effect could slip out. */
const LEFT_MS = 60;

export async function killMaster(stage: Stage): Promise<void> {
  for (const [i, stallMs] of DAWDLE_MS.entries()) {
    const fault = await killMasterOnce(stage, masterAt(stage, i + 1), stallMs);
    stage.record(fault);
    if (fault.hit !== undefined) return;
    stage.say(`the kill of ${fault.target} fell between two acquisitions: once more`);
  }
  throw new NotAsPlanned(`${DAWDLE_MS.length} kills of a master, and none fell into an acquisition`);
}

async function killMasterOnce(
  stage: Stage,
  master: Master,
  stallMs: number,
): Promise<Extract<Fault, { kind: 'master-killed' }>> {
  const { crew, events, history, now, ttlMs } = stage;
  if (stallMs > 0) crew.tellAll({ kind: 'dawdle', stallMs });
  const wanted = stallMs > 0 ? 'dawdle' : 'try';
  const claiming = events.next('claiming', 'a worker to claim', ({ manner }) => manner === wanted);
  stage.openJob(); // after a miss, those of this chapter may be used up
  await claiming;
  const fromMs = now();
  const gone = master.kill(); // the signal is sent in this turn
  await gone;
  const goneMs = now();
  await stage.sleep(MAIL_MS);
  const during = history.claims.filter((claim) => claim.startedAtMs < fromMs && fromMs < claim.endedAtMs);
  const attempts = during.filter(({ manner }) => manner !== 'wait');
  const hit = attempts.find(({ granted }) => granted) ?? attempts[0];
  stage.say(`${master.name} killed -9${hit === undefined ? '' : ` inside ${describe(hit, fromMs)}`}`);
  // Empty at once, it could vote a second time for a lock it has voted for: two holders. After one ttl every vote that
  // it may have forgotten has run out; the drift's share and a little more for its own start.
  await stage.sleep(goneMs + ttlMs * 1.01 + 2 - now());
  await master.restart({ empty: true });
  stage.say(`${master.name} is back, empty, after one ttl`);
  return { kind: 'master-killed', target: master.name, fromMs, toMs: now(), hit };
}

function describe(claim: Claim, atMs: number): string {
  const wholeMs = claim.endedAtMs - claim.startedAtMs;
  return `${claim.worker}'s acquisition of job:${claim.job}, ${(atMs - claim.startedAtMs).toFixed(1)} ms of ${wholeMs.toFixed(1)} in`;
}

export async function freezeMaster(stage: Stage): Promise<void> {
  const { events, now, ttlMs } = stage;
  const master = masterAt(stage, 0); // never one that was killed: see killMaster
  await events.next('claiming', 'a worker to claim');
  const fromMs = now();
  await master.freeze();
  stage.say(`${master.name} frozen`);
  const granted = events.next('granted', 'an acquisition while a master is frozen');
  await Promise.all([granted, stage.sleep(ttlMs)]);
  await master.thaw();
  stage.say(`${master.name} thawed`);
  stage.record({ kind: 'master-frozen', target: master.name, fromMs, toMs: now() });
}

export async function killWorker(stage: Stage): Promise<void> {
  const { crew, now } = stage;
  const struck = await workerInTheMiddle(stage);
  const fromMs = now();
  const gone = crew.named(struck.worker).kill();
  stage.say(`${struck.worker} killed -9 in the middle of job:${struck.job}`);
  const [{ worker: takenBy, atMs }] = await Promise.all([takeover(stage, struck), gone]);
  const takeoverMs = atMs - fromMs;
  stage.say(`${takenBy} took job:${struck.job} over, ${Math.round(takeoverMs)} ms later`);
  const { worker: target, job } = struck;
  stage.record({ kind: 'worker-killed', target, fromMs, toMs: atMs, job, takenBy, takeoverMs });
}

export async function pauseWorker(stage: Stage): Promise<void> {
  const { crew, events, now } = stage;
  const struck = await workerInTheMiddle(stage);
  const { worker: target, job, claim } = struck;
  const fromMs = now();
  crew.named(target).pause();
  stage.say(`${target} paused in the middle of job:${job}`);
  const done = events.next(
    'effect',
    `another worker's effect of job:${job}`,
    (told) => told.job === job && told.worker !== target,
  );
  const [{ worker: takenBy, atMs }] = await Promise.all([takeover(stage, struck), done]);
  const takeoverMs = atMs - fromMs;
  stage.say(`${takenBy} took job:${job} over, ${Math.round(takeoverMs)} ms later, and did it`);
  const resumedMs = now();
  crew.named(target).resume();
  const { leaseSaid, atMs: toMs } = await events.next(
    'stale',
    `the late effect of ${target} to be refused`,
    (told) => told.claim === claim,
  );
  stage.say(`${target} resumed; the ledger refused its late effect (its lease: ${leaseSaid})`);
  const handed = { target, fromMs, toMs, job, takenBy, takeoverMs };
  stage.record({ kind: 'worker-paused', ...handed, resumedMs, leaseSaid });
}

function workerInTheMiddle({ events }: Stage): Promise<Told<'halfway'>> {
  return events.next('halfway', 'a worker in the middle of a job', ({ leftMs }) => leftMs >= LEFT_MS);
}

/** The grant of a job to another worker than the one that was struck. */
function takeover({ events }: Stage, struck: Told<'halfway'>): Promise<Told<'granted'>> {
  const what = `job:${struck.job} to be taken over from ${struck.worker}`;
  return events.next('granted', what, ({ job, worker }) => job === struck.job && worker !== struck.worker);
}

/** The first one is kept for the freeze, so that no two faults meet on one master. */
function masterAt({ masters }: Stage, index: number): Master {
  const master = masters[index];
  if (master === undefined) throw new Error(`there is no master number ${index + 1}`);
  return master;
}
