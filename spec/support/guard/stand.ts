/** What the restart guard's contract stands on: masters that forget, in memory under virtual time or real servers. */
import { expect } from 'chai';
import type { BootstrapReport } from '../../../lib/coordinator/restart-guard.js';
import type { Lease } from '../../../lib/lease/public.js';
import type { AcquireOptions, RedlockOptions } from '../../../lib/input/options.js';
import type { BootstrapOptions } from '../../../lib/input/lifecycle-options.js';
import { quorumOf } from '../../../lib/protocol/quorum.js';
import { RedlockError } from '../../../lib/runtime/errors.js';
import type { Redlock } from '../../../lib/redlock.js';
import { LONG_GUARD_MS, PATIENT } from '../patience.js';
import { rejection } from '../rejection.js';

export const MARKER = 'quorate:guard';
export const GUARD_MS = LONG_GUARD_MS;
/** One attempt each. */
export const UNGUARDED = { ...PATIENT, waitMs: 0 } as const;
export const GUARDED = { ...UNGUARDED, restartGuardMs: GUARD_MS } as const;

/** `lost`, `kept`, `stale`: it restarts without its data, with all of it, with that of the last checkpoint. */
export type Event =
  'lost' | 'kept' | 'stale' | 'FLUSHALL' | 'FLUSHDB' | 'SCRIPT FLUSH' | 'CLIENT KILL' | 'RELOAD';

/** `AOF`: every write is kept over a restart. `RDB`: what was saved is. */
export type Persistence = 'none' | 'RDB' | 'AOF';

/** One master, as its operator sees it. */
export interface GuardedMaster {
  get(key: string): Promise<string | null>;
  pttl(key: string): Promise<number>;
  set(key: string, text: string): Promise<unknown>;
  /** Puts data there that are no text. */
  putData(key: string): Promise<void>;
  runId(): Promise<string>;
  /** Its wall clock, in µs. */
  micros(): Promise<number>;
  checkpoint(): Promise<void>;
  happen(event: Event): Promise<void>;
  /** Ends it; it stays away. */
  kill(): Promise<void>;
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

export abstract class Stand {
  readonly masters: readonly GuardedMaster[];
  /** Of the masters, as reports name them. */
  readonly names: readonly string[];
  /** How much time may have gone by unnoticed, in ms: none where time is virtual. */
  protected abstract readonly slackMs: number;
  /** A quorum, as few as can cost it, and one fewer. */
  readonly quorum: readonly GuardedMaster[];
  readonly decisive: readonly GuardedMaster[];
  readonly minority: readonly GuardedMaster[];

  constructor(masters: readonly GuardedMaster[], names: readonly string[]) {
    const quorum = quorumOf(masters.length);
    const spare = masters.length - quorum;
    this.masters = masters;
    this.names = names;
    this.quorum = masters.slice(0, quorum);
    this.decisive = masters.slice(0, spare + 1);
    this.minority = masters.slice(0, spare);
  }

  /** Another instance. */
  abstract open(options?: RedlockOptions): Redlock;
  /** Lets time pass until it is so. */
  abstract eventually(isSo: () => boolean | Promise<boolean>): Promise<void>;
  /** All masters end and begin anew, without data, while this call is on its way to them. */
  abstract acrossRestart<T>(call: () => Promise<T>): Promise<T>;
  abstract stop(): Promise<void>;

  /** Lets time pass until it has settled. */
  async ok<T>(call: Promise<T>): Promise<T> {
    let isPending = true;
    const end = (): void => void (isPending = false);
    call.then(end, end);
    await this.eventually(() => !isPending);
    return call;
  }

  refused(call: Promise<unknown>): Promise<RedlockError> {
    return this.ok(rejection(call));
  }

  /** An instance that is connected to all. */
  async connected(options: RedlockOptions = GUARDED): Promise<Redlock> {
    const redlock = this.open(options);
    await this.ok(redlock.inspect('r'));
    return redlock;
  }

  /** An instance that has declared its masters to have forgotten nothing. */
  async started(options: RedlockOptions = GUARDED): Promise<Redlock> {
    const redlock = this.open(options);
    await this.ok(redlock.bootstrap());
    return redlock;
  }

  /** A lease whose votes are all in. */
  async held(redlock: Redlock, options: AcquireOptions = {}): Promise<Lease> {
    const lease = await this.ok(redlock.acquire('r', options));
    await this.expectHeld('r', lease.token);
    return lease;
  }

  /** Tries again while connections are not back: what the masters say, by the result or by the error. */
  async decided<T>(call: () => Promise<T>): Promise<T | RedlockError> {
    for (;;) {
      const answer = await this.ok(call().catch((error: unknown) => error));
      if (!(answer instanceof Error)) return answer as T; // what it resolved with
      if (!RedlockError.is(answer)) throw answer;
      if (answer.code !== 'NO_QUORUM') return answer;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** What they say once each of these has noticed that it may have forgotten something. */
  async noticed<T>(call: () => Promise<T>, forgetful: readonly GuardedMaster[]): Promise<T | RedlockError> {
    for (;;) {
      const answer = await this.decided(call);
      const markers = forgetful.map(async (master) =>
        (await master.get(MARKER))?.startsWith(`1|${await master.runId()}|`),
      );
      if ((await Promise.all(markers)).every(Boolean)) return answer;
    }
  }

  /** What a bootstrap says once all are connected again. */
  async reported(redlock: Redlock, options: BootstrapOptions): Promise<BootstrapReport> {
    for (;;) {
      const report = await this.decided(() => redlock.bootstrap(options));
      if (RedlockError.is(report)) throw report;
      if (report.nodes.every(({ state }) => state !== 'unknown')) return report;
    }
  }

  /** Lets time pass until all their clocks show more than this. */
  async past(us: number): Promise<void> {
    for (const master of this.masters) await this.eventually(async () => (await master.micros()) > us);
  }

  async happen(event: Event, masters = this.masters): Promise<void> {
    for (const master of masters) await master.happen(event);
  }

  /** Once all answers are in, all have this text but these. */
  expectHeld(key: string, text: string | null, without: readonly GuardedMaster[] = []): Promise<void> {
    return this.eventually(async () => {
      const texts = await Promise.all(this.masters.map((master) => master.get(key)));
      return this.masters.every((master, i) => texts[i] === (without.includes(master) ? null : text));
    });
  }

  expectFree(key = 'r'): Promise<void> {
    return this.expectHeld(key, null);
  }

  /** So much is left: exactly, or less by what may have gone by. */
  expectLeft(remainingMs: number | undefined, leftMs: number): void {
    expect(remainingMs).to.be.within(Math.max(1, leftMs - this.slackMs), leftMs);
  }

  expectQuarantined(answer: unknown, leftMs = GUARD_MS): void {
    if (!RedlockError.is(answer)) throw new Error('it was granted');
    expect(answer.code).to.equal('QUARANTINED');
    this.expectLeft(answer.remainingMs, leftMs);
    const entries = answer.tally.flatMap((entry) => (entry.outcome === 'quarantined' ? [entry] : []));
    expect(entries).to.have.length.within(1, this.masters.length);
    for (const { remainingMs } of entries) this.expectLeft(remainingMs, leftMs);
  }
}

/** @param persistence  what the case needs of the masters */
export type Rule = (title: string, persistence: Persistence, body: (stand: Stand) => Promise<void>) => void;
/** @param spared  for what only masters show that can spare one */
export type Section = (rule: Rule, spared: Rule) => void;

/** Runs these parts of the contract for each of these sizes. */
export function guardContract(
  where: string,
  sizes: readonly number[],
  start: (nodes: number, persistence: Persistence) => Promise<Stand>,
  sections: readonly Section[],
): void {
  for (const nodes of sizes) {
    describe(`restart guard: ${where}, N=${nodes}`, () => {
      const rule: Rule = (title, persistence, body) => {
        it(title, async () => {
          const stand = await start(nodes, persistence);
          try {
            await body(stand);
          } finally {
            await stand.stop();
          }
        });
      };
      const spared: Rule = nodes > quorumOf(nodes) ? rule : () => undefined;
      for (const section of sections) section(rule, spared);
    });
  }
}
