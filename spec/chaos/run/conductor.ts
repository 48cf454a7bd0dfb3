/** Runs a plan on masters and clients, and records what it does. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultKind, type HistoryFile, nowMs, type Stroke } from './history.js';
import type { ChaosMaster } from '../kit/masters.js';
import { type ClientBlow, isDown, type MasterBlow, type Plan } from './plan.js';
import type { CrewMember } from './crew.js';

export interface Cast {
  readonly masters: readonly ChaosMaster[];
  readonly crew: readonly CrewMember[];
  readonly guardMs: number;
  readonly progressMs: number;
  readonly history: HistoryFile;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

const LOOK_EVERY_MS = 50;
/** A master that comes back with old data has lost the writes of this time. */
const FORGOTTEN_MS = 700;

export class Conductor {
  readonly #cast: Cast;
  #strokes = 0;
  #lastMendMs = 0;

  constructor(cast: Cast) {
    this.#cast = cast;
  }

  get strokes(): number {
    return this.#strokes;
  }

  /** Resolves when everything is healed, and each client has had an answer since then, or enough time for one. */
  async run(plan: Plan, lengthMs: number): Promise<void> {
    const startMs = nowMs();
    const until = (atMs: number): Promise<void> => this.#sleep(startMs + atMs - nowMs());
    const strikeMasters = async (): Promise<void> => {
      for (const blow of plan.masters) {
        await until(blow.atMs);
        await this.#strikeMasters(blow);
      }
    };
    const strikeClients = plan.clients.map(async (blow) => {
      await until(blow.atMs);
      await this.#strikeClient(blow);
    });
    await Promise.all([strikeMasters(), ...strikeClients, until(lengthMs)]);
    const end = nowMs() + this.#cast.progressMs;
    const isBehind = ({ answeredAtMs }: CrewMember): boolean => answeredAtMs <= this.#lastMendMs;
    while (this.#cast.crew.some(isBehind) && nowMs() < end) await this.#sleep(LOOK_EVERY_MS);
  }

  async #strikeMasters(blow: MasterBlow): Promise<void> {
    const struck = blow.masters.flatMap((i) => this.#cast.masters[i] ?? []);
    // before the fault: the disk loses what is written from now on
    if (blow.data === 'stale') {
      await Promise.all(struck.map((master) => master.checkpoint()));
      await this.#sleep(FORGOTTEN_MS);
    }
    await Promise.all(struck.map((master) => this.#around(master.name, blow, () => strike(master, blow))));
    await this.#sleep(blow.forMs);
    await Promise.all(struck.map((master) => this.#mend(master, blow)));
    this.#lastMendMs = nowMs();
  }

  /** A master with a guard abstains at first: it counts as mended when it votes. */
  async #mend(master: ChaosMaster, blow: MasterBlow): Promise<void> {
    this.#note('mend', master.name, blow);
    await heal(master, blow);
    if (isDown(blow.kind)) await this.#sleep(this.#cast.guardMs);
    this.#note('mended', master.name, blow);
  }

  async #strikeClient(blow: ClientBlow): Promise<void> {
    const member = this.#cast.crew[blow.client];
    if (member?.isUp !== true) return;
    const { name } = member;
    await this.#around(name, blow, async () => (blow.kind === 'pause' ? member.pause() : member.kill()));
    await this.#sleep(blow.forMs);
    this.#note('mend', name, blow);
    if (blow.kind === 'pause') member.resume();
    else await member.start();
    this.#note('mended', name, blow);
  }

  async #around(target: string, blow: MasterBlow | ClientBlow, act: () => Promise<void>): Promise<void> {
    this.#strokes++;
    this.#note('strike', target, blow);
    await act();
    this.#note('struck', target, blow);
  }

  #note(e: Stroke, target: string, blow: { readonly kind: FaultKind; readonly data?: string }): void {
    const how = blow.data === undefined || blow.data === 'kept' ? {} : { how: blow.data };
    this.#cast.history.note({ e, t: nowMs(), target, kind: blow.kind, ...how });
  }

  async #sleep(ms: number): Promise<void> {
    this.#cast.signal.throwIfAborted();
    if (ms > 0) await sleep(ms, undefined, { signal: this.#cast.signal });
  }
}

function strike(master: ChaosMaster, { kind }: MasterBlow): Promise<void> {
  switch (kind) {
    case 'kill':
      return master.kill();
    case 'stop':
      return master.stopGently();
    case 'freeze':
      return master.freeze();
    case 'unplug':
      return master.unplug();
    case 'cut':
      return Promise.resolve(master.cut('both'));
    case 'cut-to-master':
      return Promise.resolve(master.cut('to-master'));
    case 'cut-to-client':
      return Promise.resolve(master.cut('to-client'));
    case 'cut-pushes':
      return Promise.resolve(master.cutPushes());
  }
}

function heal(master: ChaosMaster, { kind, data }: MasterBlow): Promise<void> {
  if (isDown(kind)) return master.restart(data);
  return kind === 'freeze' ? master.thaw() : master.heal();
}
