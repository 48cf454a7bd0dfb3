/** Runs a plan on masters and clients, and records what it does. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultKind, type HistoryFile, nowMs, type Stroke, TIMESTAMP_SERVER } from './history.js';
import type { ChaosMaster } from '../kit/masters.js';
import { type ClientBlow, type Hit, isDown, type MasterBlow, type Plan } from './plan.js';
import { Spell, Starving } from './spells.js';
import type { CrewMember } from './crew.js';

export interface Cast {
  readonly masters: readonly ChaosMaster[];
  /** For timestamp locks. */
  readonly timestamps: readonly ChaosMaster[];
  readonly crew: readonly CrewMember[];
  readonly guardMs: number;
  readonly progressMs: number;
  readonly history: HistoryFile;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** What a history tells of a blow. */
interface Struck {
  readonly kind: FaultKind;
  readonly data?: string;
  readonly byMs?: number;
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
    const { masters, timestamps } = this.#cast;
    const strikeAll = async (
      blows: readonly MasterBlow[],
      servers: readonly ChaosMaster[],
    ): Promise<void> => {
      for (const blow of blows) {
        await until(blow.atMs);
        await this.#strikeServers(blow, servers);
        if (servers === masters) this.#lastMendMs = nowMs();
      }
    };
    const strikeClients = plan.clients.map(async (blow) => {
      await until(blow.atMs);
      await this.#strikeClient(blow);
    });
    const strikeServers = [strikeAll(plan.masters, masters), strikeAll(plan.timestamps, timestamps)];
    await Promise.all([...strikeServers, ...strikeClients, until(lengthMs)]);
    const end = nowMs() + this.#cast.progressMs;
    const isBehind = ({ answeredAtMs }: CrewMember): boolean => answeredAtMs <= this.#lastMendMs;
    while (this.#cast.crew.some(isBehind) && nowMs() < end) await this.#sleep(LOOK_EVERY_MS);
  }

  async #strikeServers({ hits, forMs }: MasterBlow, servers: readonly ChaosMaster[]): Promise<void> {
    const struck = hits.flatMap((hit) => {
      const server = servers[hit.server];
      return server === undefined ? [] : { server, hit, spell: new Spell(server, hit, this.#cast.signal) };
    });
    const stale = struck.filter(({ hit }) => hit.data === 'stale');
    // before the fault: the disk loses what is written from now on
    if (stale.length > 0) {
      await Promise.all(stale.map(({ server }) => server.checkpoint()));
      await this.#sleep(FORGOTTEN_MS);
    }
    await Promise.all(
      struck.map(({ server, hit, spell }) => this.#around(server.name, hit, () => spell.begin())),
    );
    await this.#sleep(forMs);
    await Promise.all(struck.map(({ server, hit, spell }) => this.#mend(server.name, hit, spell)));
  }

  /** A master with a guard abstains at first: it counts as mended when it votes. */
  async #mend(target: string, hit: Hit, spell: Spell): Promise<void> {
    this.#note('mend', target, hit);
    await spell.end();
    if (isDown(hit.kind) && target !== TIMESTAMP_SERVER) await this.#sleep(this.#cast.guardMs);
    this.#note('mended', target, hit);
  }

  async #strikeClient(blow: ClientBlow): Promise<void> {
    const member = this.#cast.crew[blow.client];
    if (member?.isUp !== true) return;
    const { name } = member;
    const starving = new Starving(
      { stop: () => member.pause(), run: () => member.resume() },
      this.#cast.signal,
    );
    await this.#around(name, blow, async () => {
      if (blow.kind === 'crash') return member.kill();
      if (blow.kind === 'pause') member.pause();
      else starving.begin();
    });
    await this.#sleep(blow.forMs);
    this.#note('mend', name, blow);
    if (blow.kind === 'crash') await member.start();
    else if (blow.kind === 'pause') member.resume();
    else await starving.end();
    this.#note('mended', name, blow);
  }

  async #around(target: string, struck: Struck, act: () => Promise<void>): Promise<void> {
    this.#strokes++;
    this.#note('strike', target, struck);
    await act();
    this.#note('struck', target, struck);
  }

  #note(e: Stroke, target: string, { kind, data, byMs = 0 }: Struck): void {
    const how = data === undefined || data === 'kept' ? {} : { how: data };
    const by = byMs === 0 ? {} : { byMs };
    this.#cast.history.note({ e, t: nowMs(), target, kind, ...how, ...by });
  }

  async #sleep(ms: number): Promise<void> {
    this.#cast.signal.throwIfAborted();
    if (ms > 0) await sleep(ms, undefined, { signal: this.#cast.signal });
  }
}
