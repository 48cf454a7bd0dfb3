/**
 * Locks that clients of other libraries want, too. Those poll, so they never get a lock that callers of quorate hand over to each
 * other. While such clients are about, callers of quorate poll as well, and leave gaps: they neither queue nor wait in a local
 * line, and a release hands over to nobody.
 *
 * They are about for ten minutes after one of their tokens was last found on the lock. Where a lock is hardly ever free, few
 * instances find one. So an instance that does notes it beside the lock, on all masters, and one that keeps meeting others asks a
 * master for the note.
 */
import type { Node } from '../node/node.js';
import { IGNORED_ANSWER } from '../node/sink.js';
import { foreignKey } from '../protocol/keys.js';
import { textReading, textWriting } from '../protocol/text-requests.js';
import type { Clock } from '../runtime/clock.js';
import { homeMasterOf } from './home-master.js';

/** How long they are about after a token was found, in ms. */
export const ABOUT_MS = 600_000;
/** A finding is noted on the masters for as long as it is not older, and no more often; in ms. */
export const NOTE_MS = 60_000;
/** A master is asked for the note no more often than this, in ms. */
export const ASK_MS = 10_000;
/** How long they are about after a note was read, in ms. */
const READ_MS = 3 * ASK_MS;
const MOST_LOCKS = 1_000;

/** What is known of one lock; instants by the instance's clock, in ms. */
interface Known {
  aboutUntilMs: number;
  foundAtMs: number;
  notedAtMs: number;
  askedAtMs: number;
  /** What polls because of them, in this instance. */
  readonly pollers: Set<Poller>;
}

/** An acquisition that polls. */
export interface Poller {
  /** The first of its locks. */
  readonly key: string;
}

export class ForeignClients {
  readonly #nodes: readonly Node[];
  readonly #nodesByName: readonly Node[];
  readonly #clock: Clock;
  readonly #onAppear: (key: string) => void;
  /** By key; ordered by the first meeting with others. */
  readonly #known = new Map<string, Known>();

  /** @param onAppear  called when they are about from now on */
  constructor(
    nodes: readonly Node[],
    nodesByName: readonly Node[],
    clock: Clock,
    onAppear: (key: string) => void,
  ) {
    this.#nodes = nodes;
    this.#nodesByName = nodesByName;
    this.#clock = clock;
    this.#onAppear = onAppear;
  }

  /** Whether they are about, for one of these locks. */
  areAbout(keys: readonly string[]): boolean {
    return this.#known.size > 0 && keys.some((key) => this.#areAbout(this.#known.get(key)));
  }

  /** A token of theirs was found on the lock. */
  found(key: string): void {
    const known = this.#knownOf(key);
    known.foundAtMs = this.#clock.earliest();
    this.#expect(key, known, ABOUT_MS);
  }

  /** Others hold the lock again: notes a finding for other instances, or asks for theirs. */
  share(key: string): void {
    const [known, nowMs] = [this.#knownOf(key), this.#clock.earliest()];
    if (nowMs - known.foundAtMs < NOTE_MS) {
      if (nowMs - known.notedAtMs < NOTE_MS) return;
      known.notedAtMs = nowMs;
      const ask = { request: textWriting(foreignKey(key), '1', ABOUT_MS), sink: IGNORED_ANSWER };
      for (const node of this.#nodes) node.send(ask);
    } else if (nowMs - known.askedAtMs >= ASK_MS) {
      known.askedAtMs = nowMs;
      const onReply = (_: Node, reply: unknown): void => {
        if (reply !== null) this.#expect(key, known, READ_MS);
      };
      const ask = { request: textReading(foreignKey(key)), sink: { ...IGNORED_ANSWER, onReply } };
      (homeMasterOf(this.#nodesByName, key) ?? this.#nodes[0])?.send(ask);
    }
  }

  /** Whether callers of this instance poll for the lock because of them. A later caller shall not pass those. */
  havePollers(key: string): boolean {
    const known = this.#known.get(key);
    return known !== undefined && known.pollers.size > 0 && this.#areAbout(known);
  }

  /** It polls from here on. */
  polls(poller: Poller): void {
    this.#knownOf(poller.key).pollers.add(poller);
  }

  /** It polls no longer. */
  left(poller: Poller): void {
    this.#known.get(poller.key)?.pollers.delete(poller);
  }

  #areAbout(known: Known | undefined): boolean {
    return known !== undefined && known.aboutUntilMs > this.#clock.earliest();
  }

  #expect(key: string, known: Known, forMs: number): void {
    const isNew = !this.#areAbout(known);
    known.aboutUntilMs = Math.max(known.aboutUntilMs, this.#clock.earliest() + forMs);
    if (isNew) this.#onAppear(key);
  }

  #knownOf(key: string): Known {
    let known = this.#known.get(key);
    if (known === undefined) {
      const never = -Infinity;
      known = {
        aboutUntilMs: never,
        foundAtMs: never,
        notedAtMs: never,
        askedAtMs: never,
        pollers: new Set(),
      };
      this.#known.set(key, known);
      const [oldest] = this.#known.keys();
      if (this.#known.size > MOST_LOCKS && oldest !== undefined) this.#known.delete(oldest);
    }
    return known;
  }
}
