/**
 * Repairs: undos that failed at first, and those of leases that were given away, if a master shows that the lease is over. They
 * are tried again in the background until masters confirm them, or until their votes have expired.
 *
 * Bounds: a maximum of entries per master and of undos on the wire, and one timer for all, which never keeps the process
 * alive and ends with the last entry. An entry that is dropped costs one master's vote until its ttl ends, not safety.
 */
import type { QuorumParts } from './parts.js';
import pLimit from 'p-limit';
import type { Clock, Timer, Timers } from '../runtime/clock.js';
import type { Node, Sink } from '../node/node.js';
import type { Outcome } from '../protocol/quorum.js';
import { type Request, undo } from '../protocol/request.js';
import type { Scope } from '../protocol/scope.js';
import { takenReading } from '../protocol/text-requests.js';
import { expiredByMs } from '../protocol/validity.js';
import { repeatIfUnfinished } from './withdrawal.js';

export const MAX_ENTRIES_PER_NODE = 10_000;
const ON_THE_WIRE = 16;
const FIRST_DELAY_MS = 50;
const LAST_DELAY_MS = 1_000;

/** A vote that may be left on a master. */
export interface Orphan {
  readonly scope: Scope;
  readonly token: string;
  /** The vote has expired by then. */
  readonly untilMs: number;
  /** It is that of a lease which was given away: it is undone only if the lease is over, as the master shows (`takenReading`). */
  readonly isGivenAway?: boolean;
}

/** Sends one request. `done` resolves with the answer of the master, or with undefined if it does not come. */
class Repair implements Sink {
  readonly isWanted = true;
  readonly done: Promise<Outcome | undefined>;
  #resolve: (answer: Outcome | undefined) => void = () => undefined;
  readonly #request: Request;

  constructor(request: Request) {
    this.#request = request;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  onSent(): void {}

  onReply(node: Node, reply: unknown): void {
    repeatIfUnfinished(node, this.#request, reply);
    this.#resolve(this.#request.read(reply));
  }

  onFailure(): void {
    this.#resolve(undefined);
  }

  /** Nobody needs it any longer. If it was sent, it still waits for the answer: so the number on the wire stays bounded. */
  giveUp(node: Node): void {
    if (node.forget(this)) this.#resolve(undefined);
  }
}

/** The undos owed to one master. */
class NodeRepairs {
  readonly #node: Node;
  readonly #clock: Clock;
  readonly #onProgress: () => void;
  readonly #limit = pLimit(ON_THE_WIRE);
  readonly #orphans = new Map<string, Orphan>();
  readonly #running = new Map<string, Repair>();

  constructor(node: Node, clock: Clock, onProgress: () => void) {
    this.#node = node;
    this.#clock = clock;
    this.#onProgress = onProgress;
  }

  get size(): number {
    return this.#orphans.size;
  }

  /** Tries this undo now, before the timer fires. */
  take(orphan: Orphan): void {
    this.#add(orphan);
    if (this.#node.state === 'ready' && !this.#running.has(orphan.token)) this.#start(orphan);
  }

  #add(orphan: Orphan): void {
    this.#orphans.delete(orphan.token); // added again at the end: the later orphan lives longer
    this.#orphans.set(orphan.token, orphan);
    if (this.#orphans.size <= MAX_ENTRIES_PER_NODE) return;
    const [oldest] = this.#orphans.keys();
    if (oldest !== undefined) this.drop(oldest);
  }

  drop(token: string): void {
    this.#orphans.delete(token);
    this.#running.get(token)?.giveUp(this.#node);
  }

  async settled(): Promise<void> {
    // what a master shows of a lease that was given away may be followed by an undo
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  /** Starts the undos that are not under way, and drops those whose vote has expired. */
  run(): void {
    const nowMs = this.#clock.now();
    const isReady = this.#node.state === 'ready';
    for (const orphan of this.#orphans.values()) {
      if (nowMs >= orphan.untilMs) this.drop(orphan.token);
      else if (isReady && !this.#running.has(orphan.token)) this.#start(orphan); // else it fails at once, unsent
    }
  }

  #start(orphan: Orphan): void {
    const { isGivenAway, scope, token } = orphan;
    const request = isGivenAway === true ? takenReading(scope, token) : undo(scope, token);
    const repair = new Repair(request);
    this.#running.set(token, repair);
    const attempt = async (): Promise<void> => {
      let isOrphan = false;
      if (this.#orphans.has(token)) {
        this.#node.send({ request, sink: repair });
        const answer = await repair.done;
        if (answer !== undefined && this.#orphans.get(token) === orphan) this.#orphans.delete(token);
        isOrphan = isGivenAway === true && showsItsEnd(answer);
      } else repair.onFailure(); // it expired while it waited for room
      this.#running.delete(token);
      if (isOrphan) this.take({ ...orphan, isGivenAway: false });
      this.#onProgress();
    };
    void this.#limit(attempt);
  }
}

function showsItsEnd(answer: Outcome | undefined): boolean {
  return answer?.kind === 'refused' && answer.isTaken === true;
}

export class Repairs {
  readonly #nodes: readonly NodeRepairs[];
  readonly #timers: Timers;
  #timer: Timer | undefined;
  #delayMs = FIRST_DELAY_MS;
  #isClosed = false;

  constructor(nodes: readonly Node[], clock: Clock, timers: Timers) {
    const endIfDone = (): void => {
      if (this.size === 0) this.#stop();
    };
    this.#nodes = nodes.map((node) => new NodeRepairs(node, clock, endIfDone));
    this.#timers = timers;
  }

  /** How many undos are owed to all masters together. */
  get size(): number {
    return this.#nodes.reduce((sum, node) => sum + node.size, 0);
  }

  add(node: Node, orphan: Orphan): void {
    if (this.#isClosed) return;
    this.#nodes[node.index]?.take(orphan);
    if (this.#delayMs > FIRST_DELAY_MS) this.#stop();
    this.#delayMs = FIRST_DELAY_MS;
    this.#schedule();
  }

  /** Tries all at once, before the timer fires. */
  run(): void {
    for (const node of this.#nodes) node.run();
  }

  /** Resolves when the undos under way have been answered. */
  async settled(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.settled()));
  }

  /** Stops: votes that are still owed an undo expire. */
  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  #stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): void {
    if (this.#isClosed || this.#timer !== undefined || this.size === 0) return;
    this.#timer = this.#timers.background(this.#delayMs, () => {
      this.#timer = undefined;
      this.#delayMs = Math.min(this.#delayMs * 2, LAST_DELAY_MS);
      this.run();
      this.#schedule();
    });
  }
}

/** Leaves an undo to the background, until what it takes back has expired. */
export function owe(
  { clock, driftFactor, repairs }: QuorumParts,
  node: Node,
  { scope, token, lifeMs }: { readonly scope: Scope; readonly token: string; readonly lifeMs: number },
): void {
  repairs.add(node, { scope, token, untilMs: expiredByMs(clock.earliest(), lifeMs, driftFactor) });
}
