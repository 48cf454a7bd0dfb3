/** One scenario: its masters, its processes, one blow after another, and a look at the votes after each. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Master, startMasters } from '../../../scripts/masters.js';
import { nowMs } from '../run/history.js';
import { Actors, type CommandRun, type Programs } from './actors.js';
import { watchMachine } from './machine.js';
import type { Told } from './messages.js';
import { LASTING, type Scenario, type Times, timesOf } from './scenarios.js';
import { Hands, isWhole, type Vote, type Wholeness, wholenessOf } from './votes.js';

/** A lease that lacks the vote of a master that is up. */
export interface Eroded extends Wholeness {
  readonly lock: string;
}

export interface RollEvent {
  readonly t: number;
  readonly what: string;
  /** In time, of the lasting leases; undefined where the next event came before they had to be whole. */
  readonly eroded: readonly Eroded[] | undefined;
  /** From the event until all were whole, as far as it was looked at. */
  readonly wholeAfterMs: number | undefined;
  readonly limitMs: number;
}

export interface RollRecord {
  readonly scenario: Scenario;
  readonly ttlMs: number;
  readonly events: readonly RollEvent[];
  /** What the clients told, and what this process saw of the machine. */
  readonly told: readonly Told[];
  readonly commands: readonly Readonly<CommandRun>[];
  /** Clients that ended by themselves. */
  readonly ended: readonly string[];
  readonly endT: number;
}

export interface RollTerms {
  readonly ttlMs: number;
  /** How often each master is struck. */
  readonly rounds: number;
  readonly programs: Programs;
  readonly signal: AbortSignal;
}

const LOOK_EVERY_MS = 100;
/** How late a busy machine may be with what the masters and clients do in a second. */
const MACHINE_MS = 1_000;
const START_WITHIN_MS = 60_000;
const CALM_MS = 1_000;
const CALM_WITHIN_MS = 15_000;

export async function roll(scenario: Scenario, terms: RollTerms): Promise<RollRecord> {
  const { ttlMs, programs, signal } = terms;
  const { masters: count, persist } = scenario;
  await using masters = await startMasters(count, { backend: 'process', persist });
  const hands = new Hands(masters.list.map(({ port }) => port));
  const actors = new Actors(masters.urls, ttlMs, programs);
  const over = new AbortController();
  const watching = watchMachine((late) => actors.told.push({ ...late, client: 'this process' }), over.signal);
  try {
    const roller = new Roller(masters.list, hands, timesOf(scenario, ttlMs), signal);
    await roller.begin(() => actors.told.findLast(({ e }) => e === 'late')?.t ?? 0);
    for (let i = 0; i < count * terms.rounds; i++) await roller.strike(i % count, scenario);
    const { told, commands, ended } = actors;
    return { scenario, ttlMs, events: roller.events, told: [...told], commands, ended, endT: nowMs() };
  } finally {
    over.abort();
    await watching;
    actors.stop();
    hands.close();
  }
}

class Roller {
  readonly events: RollEvent[] = [];
  readonly #masters: readonly Master[];
  readonly #hands: Hands;
  readonly #times: Times;
  readonly #signal: AbortSignal;
  readonly #isUp: boolean[];

  constructor(masters: readonly Master[], hands: Hands, times: Times, signal: AbortSignal) {
    this.#masters = masters;
    this.#hands = hands;
    this.#times = times;
    this.#signal = signal;
    this.#isUp = masters.map(() => true);
  }

  /**
   * The time counts from when each lock has a holder, and the processes have started: until then the machine is busy.
   *
   * @param lateT  when it last kept a process from running
   */
  async begin(lateT: () => number): Promise<void> {
    const end = nowMs() + START_WITHIN_MS;
    const isHeld = (found: readonly Wholeness[]): boolean =>
      found.every(({ holder }) => holder !== undefined);
    while (!isHeld(await this.#wholeness())) {
      if (nowMs() > end) throw new Error(`not all locks are held after ${START_WITHIN_MS} ms`);
      await this.#sleep(LOOK_EVERY_MS);
    }
    const calmBy = nowMs() + CALM_WITHIN_MS;
    while (nowMs() - lateT() < CALM_MS && nowMs() < calmBy) await this.#sleep(LOOK_EVERY_MS);
    await this.#settle('start');
  }

  async strike(index: number, { blow }: Scenario): Promise<void> {
    const master = this.#masters[index];
    if (master === undefined) throw new Error(`there is no master ${index + 1}`);
    const { awayMs, settleMs } = this.#times;
    const name = `m${index + 1}`;
    this.#isUp[index] = false;
    await (blow === 'freeze' ? master.freeze() : master.kill());
    const awayT = nowMs();
    const away = `${name} ${blow === 'freeze' ? 'frozen' : 'down'}`;
    if (awayMs >= settleMs) await this.#settle(away);
    else this.#note(awayT, away);
    await this.#sleep(awayT + awayMs - nowMs());
    await (blow === 'freeze' ? master.thaw() : master.restart());
    this.#isUp[index] = true;
    await this.#settle(`${name} back`);
  }

  /** Looks until each lease should be whole again, and a little longer at those that are not. */
  async #settle(what: string): Promise<void> {
    const t = nowMs();
    const { settleMs } = this.#times;
    let brokenT = t;
    for (;;) {
      const found = await this.#wholeness();
      const eroded = LASTING.flatMap((lock, i) => {
        const one = found[i];
        return one === undefined || isWhole(one) ? [] : [{ lock, ...one }];
      });
      const lookT = nowMs();
      if (eroded.length > 0) brokenT = lookT;
      const isOver = lookT > t + settleMs && (eroded.length === 0 || lookT > t + settleMs + MACHINE_MS);
      if (isOver) return this.#note(t, what, eroded, eroded.length === 0 ? brokenT - t : undefined);
      await this.#sleep(LOOK_EVERY_MS);
    }
  }

  #note(t: number, what: string, eroded?: readonly Eroded[], wholeAfterMs?: number): void {
    this.events.push({ t, what, eroded, wholeAfterMs, limitMs: this.#times.settleMs });
  }

  /** A master that is up and does not answer has no vote: its hand may still be connecting, and is asked again. */
  async #wholeness(): Promise<Wholeness[]> {
    const found = await this.#hands.look(LASTING, this.#isUp);
    return LASTING.map((lock) => {
      const votes: Vote[] = found.get(lock) ?? [];
      return wholenessOf(votes.map((vote, i) => (this.#isUp[i] === true ? (vote ?? null) : undefined)));
    });
  }

  async #sleep(ms: number): Promise<void> {
    this.#signal.throwIfAborted();
    if (ms > 0) await sleep(ms, undefined, { signal: this.#signal });
  }
}
