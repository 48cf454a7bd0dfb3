/**
 * The tracing channels of `node:diagnostics_channel`: for programs that watch all instances of a process, such as tracers.
 * Each has the five channels of Node's `TracingChannel`, `tracing:quorate:acquire:start` and so on. While nobody subscribes,
 * no message is built or published.
 *
 * `TracingChannel` is experimental in Node 20 and 22. This uses only `tracingChannel`, `publish`, `hasSubscribers` and
 * `tracePromise`, which all versions have; `TracingChannel.hasSubscribers` is newer than Node 20.4.
 */
import { tracingChannel, type TracingChannel } from 'node:diagnostics_channel';
import type { NodeOutcome } from '../runtime/errors.js';
import type { HeldBy } from '../runtime/instance-info.js';
import type { AcquiredBy, LockKind } from './events.js';

/** What the messages of all channels have. An operation has one message object, from its start to its end. */
interface TraceMessage {
  /** The `Redlock` of the operation. */
  readonly redlock: object;
  /** The resources, sorted. */
  readonly resources: readonly string[];
  /** The kind of the lock. */
  readonly kind: LockKind;
  /** Each master's outcome in the last round, once the operation has ended; empty before. */
  tally: readonly NodeOutcome[];
  /** How long the operation took, once it has ended. Milliseconds; 0 before. */
  elapsedMs: number;
  /** Why the operation failed, if it did. Usually a `RedlockError`. */
  error?: unknown;
}

/** The messages of `tracing:quorate:acquire:*`: `acquire`, `tryAcquire`, `using` up to its lease, and `adopt`. */
export interface AcquireMessage extends TraceMessage {
  /** The call. */
  readonly by: AcquiredBy;
  /** The ttl that was asked for. Milliseconds. */
  readonly ttlMs: number;
  /** How long the call may wait. Milliseconds. */
  readonly waitMs: number;
  /** How many attempts were made, once the call has ended; 0 before. */
  attempts: number;
  /** Whether the call had to wait. */
  waited: boolean;
  /** Whether another lease of this instance handed the lock over, without a message. */
  local: boolean;
  /** The holder of the lock, if that is known and the call has ended because others have the lock. */
  heldBy?: HeldBy;
  /** The result, once there is one; null if `tryAcquire` returns null. */
  result?: {
    /** The fencing token; undefined without one. */
    readonly fence: number | undefined;
  } | null;
}

/** The messages of `tracing:quorate:extend:*`: renewals, and calls of `extend`. */
export interface ExtendMessage extends TraceMessage {
  /** `renewal`: an extension by quorate · `extend`: a call of the holder. */
  readonly by: 'renewal' | 'extend';
  /** The ttl that was asked for. Milliseconds. */
  readonly ttlMs: number;
  /** How many extensions were tried since the last success, this one included. */
  readonly attempts: number;
  /** The result, once there is one. */
  result?: {
    /** The validity that the lease has now. Milliseconds. */
    readonly remainingMs: number;
  };
}

/** The messages of `tracing:quorate:release:*`. A release never fails. */
export interface ReleaseMessage extends TraceMessage {
  /** The time since the lease was granted. Milliseconds. */
  readonly heldMs: number;
}

/** The messages of `tracing:quorate:lead:*`: each leadership of `election.lead`, while its routine runs. */
export interface LeadMessage {
  /** The `Redlock` that leads. */
  readonly redlock: object;
  /** The election's name, and nothing else. */
  readonly resources: readonly string[];
  /** An election's lock is exclusive. */
  readonly kind: 'mutex';
  /** The fencing token of the leadership. */
  readonly fence: number;
  /** How long the routine ran, once it has ended. Milliseconds; 0 before. */
  elapsedMs: number;
  /** Why the routine's signal aborted, if it did: a lost leadership, the end of `lead`, or a closing instance. */
  reason?: unknown;
  /** What the routine threw before its signal aborted. */
  error?: unknown;
}

/** One of the channels. */
class Channel<Message extends object> {
  readonly #channel: TracingChannel<Message>;

  constructor(name: string) {
    this.#channel = tracingChannel<Message>(name); // kept: a channel without references is collected with its subscribers
  }

  get isHeard(): boolean {
    const { asyncEnd, asyncStart, end, error, start } = this.#channel;
    return (
      start.hasSubscribers ||
      end.hasSubscribers ||
      asyncStart.hasSubscribers ||
      asyncEnd.hasSubscribers ||
      error.hasSubscribers
    );
  }

  /** Runs a step within the stores that subscribers have bound to `start`. */
  trace<T>(message: Message, step: () => Promise<T>): Promise<T> {
    return this.#channel.tracePromise(step, message);
  }

  /** An operation begins that shares its calls with others, so it runs in no store of its own. */
  begin(message: Message): void {
    this.#channel.start.publish(message);
    this.#channel.end.publish(message);
  }

  /** It has ended. */
  end(message: Message & { readonly error?: unknown }): void {
    const { asyncEnd, asyncStart, error } = this.#channel;
    if (message.error !== undefined) error.publish(message);
    asyncStart.publish(message);
    asyncEnd.publish(message);
  }
}

export const ACQUIRE = new Channel<AcquireMessage>('quorate:acquire');
export const EXTEND = new Channel<ExtendMessage>('quorate:extend');
export const LEAD = new Channel<LeadMessage>('quorate:lead');
export const RELEASE = new Channel<ReleaseMessage>('quorate:release');
