/**
 * P11, the clock of service: for each lock that is waited for in the queue, it measures the time in which no living holder has a
 * quorum of its votes, though a living waiter reaches a quorum of masters that could give theirs. What docs/FAIRNESS.md
 * allows for a fault is left out by what is so at an instant, and not by counting faults: votes of the dead and the stopped
 * are not counted as free (their ttl, or a second for a reservation), nor are masters that serve nobody, and who was cut
 * off lately does not count as a waiter.
 */
import type { SimulatedLink } from '../world/link.js';
import type { Place } from '../world/place.js';
import type { Player, Stage } from '../world/stage.js';
import { queueKey } from '../../../lib/protocol/keys.js';
import { quorumOf } from '../../../lib/protocol/quorum.js';
import { publicPart, tokenIn } from '../../../lib/runtime/random.js';
import { lockBeside } from '../../support/entries.js';
import type { MemoryServer } from '../../../lib/testing/master/server.js';
import { placesAt, sharedVotes } from '../../support/shared-votes.js';

/** A push may be lost, and the first in the queue looks by itself after 2 s. Seeds come to 0.9 s. */
const LONGEST_IDLE_MS = 2_250;
/** Longer than it takes to connect again. */
const CALM_MS = 500;

/** What is measured, and against what. */
export interface ServiceTerms {
  /** The longest time for which a lock may be idle, in ms. */
  readonly limitMs: number;
  /** Who was disturbed within this time is no waiter, and no master that could give its vote. */
  readonly calmMs: number;
  readonly fail: (text: string) => void;
}

export class ServiceClock {
  /** The longest time for which a lock was idle. */
  longestMs = 0;
  readonly #stage: Stage;
  readonly #terms: ServiceTerms;
  readonly #idleSince = new Map<string, number>();
  #wakesAtMs = Infinity;

  constructor(stage: Stage, terms: ServiceTerms) {
    this.#stage = stage;
    this.#terms = terms;
  }

  /** Runs after each event that woke a client; and as the next vote expires, which is no event. */
  look(): void {
    const { nowMs } = this.#stage.world;
    const waitedFor = this.#waitedFor();
    for (const [lock, sinceMs] of this.#idleSince) {
      this.longestMs = Math.max(this.longestMs, nowMs - sinceMs);
      if (!waitedFor.has(lock) || !this.#isIdle(lock)) this.#idleSince.delete(lock);
      else if (nowMs - sinceMs > this.#terms.limitMs) {
        this.#idleSince.set(lock, Infinity); // reported once
        this.#terms.fail(
          `${lock} is idle for ${(nowMs - sinceMs).toFixed(0)} ms, and a living client waits for it`,
        );
      }
    }
    for (const lock of waitedFor) {
      if (!this.#idleSince.has(lock) && this.#isIdle(lock)) this.#idleSince.set(lock, nowMs);
      this.#wakeAsItExpires(lock);
    }
  }

  #waitedFor(): Set<string> {
    const found = new Set<string>();
    for (const { server } of this.#stage.places) {
      if (!server.isUp) continue;
      for (const key of server.names()) {
        const lock = lockBeside('queue', key);
        if (lock !== undefined) found.add(lock);
      }
    }
    return found;
  }

  #isIdle(lock: string): boolean {
    const { places, players } = this.#stage;
    const quorum = quorumOf(places.length);
    if (
      places.some(
        ({ server }) => server.isUp && (sharedVotes(server, lock) !== undefined || isWanted(server, lock)),
      )
    )
      return this.#couldComeIn(lock);
    const owners = places.map((place) => ownerOf(place, lock));
    const votes = new Map<string, number>();
    for (const owner of owners) if (owner !== undefined) votes.set(owner, (votes.get(owner) ?? 0) + 1);
    for (const [owner, count] of votes) if (count >= quorum && this.#isLiving(owner)) return false;
    return players.some((player) => {
      if (!isRunning(player)) return false;
      const given = places.filter((place, i) => {
        const owner = owners[i];
        return this.#reaches(player, i) && this.#isQueued(player, place, lock) && this.#gives(owner, i);
      });
      return given.length >= quorum;
    });
  }

  /**
   * A shared lock: somebody is the first that waits at a quorum of masters, where nothing is in the way but votes of the
   * living that are of no use, and those votes that it has.
   */
  #couldComeIn(lock: string): boolean {
    const { places, players } = this.#stage;
    const quorum = quorumOf(places.length);
    const votes = places.map(({ server }) => (server.isUp ? (sharedVotes(server, lock) ?? []) : []));
    const firsts = places.map(({ server }) => placesAt(server, lock)[0]);
    const counts = new Map<string, number>();
    for (const { token } of votes.flat()) counts.set(token, (counts.get(token) ?? 0) + 1);
    const isOwn = (token: string, { client }: Player): boolean => nameOf(token) === client.name;
    return players.some((player) => {
      if (!isRunning(player)) return false;
      for (const [token, count] of counts) if (count >= quorum && isOwn(token, player)) return false;
      const given = places.filter((_, i) => {
        if (!this.#reaches(player, i)) return false;
        if (votes[i]?.some(({ token }) => isOwn(token, player)) === true) return true;
        const first = firsts[i];
        if (first === undefined || !isOwn(first.token, player) || first.isMute) return false;
        return votes[i]?.every(({ token, what }) => {
          const isInTheWay = first.want !== 'r' || what === 'w';
          return !isInTheWay || ((counts.get(token) ?? 0) < quorum && this.#gives(token, i));
        });
      });
      return given.length >= quorum;
    });
  }

  /** The master could give its vote to a waiter: nobody has it, or one that lives, and yields it if it is of no use. */
  #gives(owner: string | undefined, at: number): boolean {
    if (owner === undefined) return true;
    if (this.#stage.checker.thefts.tookAway(owner)) return false;
    const player = this.#playerOf(owner);
    return player !== undefined && isRunning(player) && this.#reaches(player, at);
  }

  #reaches({ links }: Player, at: number): boolean {
    const [link, place] = [links[at], this.#stage.places[at]];
    return link !== undefined && place !== undefined && this.#serves(place) && this.#isCalm(link);
  }

  #serves({ disturbedAtMs, server }: Place): boolean {
    if (!server.isUp || server.isStopped || server.error !== undefined || server.isFull) return false;
    return this.#stage.world.nowMs - disturbedAtMs > this.#terms.calmMs;
  }

  #isCalm(link: SimulatedLink): boolean {
    if (link.state !== 'ready' || link.isBlocked || !link.isListening) return false;
    return this.#stage.world.nowMs - this.#stage.calmSinceMs(link) > this.#terms.calmMs;
  }

  #isQueued({ client }: Player, { server }: Place, lock: string): boolean {
    const queue = server.members(queueKey(lock));
    const places = typeof queue === 'symbol' ? [] : queue;
    const owner = server.get(lock);
    return (
      places.some(({ name }) => nameOf(name) === client.name) ||
      (typeof owner === 'string' && nameOf(owner) === client.name)
    );
  }

  #isLiving(token: string): boolean {
    const player = this.#playerOf(token);
    return player !== undefined && isRunning(player);
  }

  #playerOf(token: string): Player | undefined {
    return this.#stage.players.find(({ client }) => client.name === nameOf(token));
  }

  #wakeAsItExpires(lock: string): void {
    const { places, world } = this.#stage;
    const left = places.map(({ server }) => server.pttl(lock)).filter((ms) => ms >= 0);
    const atMs = world.nowMs + Math.min(...left) + 1;
    if (atMs >= this.#wakesAtMs || atMs === Infinity) return;
    this.#wakesAtMs = atMs;
    world.at(atMs, () => this.#wake(atMs), false);
  }

  #wake(atMs: number): void {
    if (this.#wakesAtMs === atMs) this.#wakesAtMs = Infinity;
    this.look();
  }
}

/** The clock for runs in which anything may go wrong. */
export function clockOfService(stage: Stage): ServiceClock {
  const fail = (text: string): void => stage.checker.fail('service', text);
  return new ServiceClock(stage, { limitMs: LONGEST_IDLE_MS, calmMs: CALM_MS, fail });
}

/** Whether somebody waits there for a shared lock. */
function isWanted(server: MemoryServer, lock: string): boolean {
  return server.isUp && placesAt(server, lock).some(({ want }) => want !== undefined);
}

function ownerOf({ server }: Place, lock: string): string | undefined {
  const value = server.isUp ? server.get(lock) : undefined;
  return typeof value === 'string' ? tokenIn(value) : undefined;
}

/** The client that a token of a simulation belongs to. */
function nameOf(token: string): string {
  return publicPart(token).replace(/_+$/, '');
}

function isRunning({ client }: Player): boolean {
  return client.isAlive && !client.isPaused;
}
