/** What elections and jobs need of an instance, by hand: what the masters answer, one lease, and virtual time. */
import type { Coordinator } from '../../lib/coordinator/coordinator.js';
import { resolveOptions } from '../../lib/input/options.js';
import type { InstanceTerms } from '../../lib/protocol/terms.js';
import type { Coordination } from '../../lib/lease/coordination.js';
import { HeldLeases } from '../../lib/lease/held-leases.js';
import type { Lease as OwnLease } from '../../lib/lease/lease.js';
import { Notes } from '../../lib/lease/notes.js';
import type { Lease } from '../../lib/lease/public.js';
import { quorumOf } from '../../lib/protocol/quorum.js';
import type { Request } from '../../lib/protocol/request.js';
import type { SurveyAnswer, SurveyHooks } from '../../lib/quorum/survey.js';
import { NOT_AWAITED } from '../../lib/redis/server-errors.js';
import { Cancellation } from '../../lib/runtime/cancellation.js';
import { EventHub } from '../../lib/runtime/event-hub.js';
import { RedlockError, type RedlockErrorCode } from '../../lib/runtime/errors.js';
import { TimerCoalescer } from '../../lib/runtime/timer-coalescer.js';
import { Telemetry } from '../../lib/telemetry/telemetry.js';
import { scriptOf } from '../../lib/testing/master/execution.js';
import { FakeRandom } from './fake-cluster.js';
import { FakeTime } from './fake-time.js';

const PLACE = { key: 'r', noteKey: 'n', channel: 'c', marker: undefined, guardMs: 0 } as const;
export const NODE_TIMEOUT_MS = 200;

export const answered = (reply: unknown): SurveyAnswer => ({ kind: 'answered', reply });
export const SILENT: SurveyAnswer = { kind: 'unknown', cause: new Error('silent') };

/** What a master's note-read says under the reader's vote, or as given. */
export function noteReply(
  text: string,
  more: { fence?: number; seq?: number; vote?: number; since?: number } = {},
): SurveyAnswer {
  const { fence = text === '' ? 0 : 1, seq = text === '' ? 0 : 1, vote = 1, since = 0 } = more;
  return answered([vote, 9_000, 100_000_000, since, 0, fence, seq, text]);
}

/** One lease: it is held until it is lost. */
interface FakeLease extends Lease {
  lose(code?: RedlockErrorCode): void;
  readonly isReleased: boolean;
}

function fakeLease(): FakeLease {
  const controller = new AbortController();
  let [lost, isReleased]: [RedlockError | undefined, boolean] = [undefined, false];
  const lease = {
    ...{ resources: ['r'], token: 'token', fence: 7, ttlMs: 3_000, signal: controller.signal },
    get status() {
      return isReleased ? 'released' : lost === undefined ? 'held' : 'lost';
    },
    get isReleased() {
      return isReleased;
    },
    remainingMs: () => 3_000,
    assertHeld() {
      if (lost !== undefined) throw lost;
    },
    lose(code: RedlockErrorCode = 'LOCK_LOST') {
      lost = new RedlockError(code, 'it is lost');
      controller.abort(lost);
    },
    release() {
      isReleased = true;
      return Promise.resolve();
    },
  };
  return lease as unknown as FakeLease; // the rest is not asked for
}

/** Elections and jobs ask for none of it. */
const unasked = (): Promise<never> => Promise.reject(new Error('it is not asked'));

export class FakeCoordination implements Coordination {
  readonly time = new FakeTime();
  readonly clock = this.time;
  readonly timers = this.time;
  readonly random = new FakeRandom();
  readonly terms: InstanceTerms = resolveOptions({ ttlMs: 3_000 });
  readonly coordinator: Coordinator;
  readonly held = new HeldLeases(this.time, this.time);
  readonly renewals = new TimerCoalescer<OwnLease>(this.time, this.time, () => undefined);
  readonly telemetry = new Telemetry({}, [], this.time, new EventHub());
  readonly lease = fakeLease();
  /** Requests that were sent, each with the number of answers that were awaited. */
  readonly sent: { readonly request: Request; readonly awaited: number }[] = [];
  /** What the masters answer, in their order; a spec sets it. */
  answers: (request: Request) => readonly SurveyAnswer[] = () => [];
  /** What `acquire` does; it gives the lease by default. */
  acquiring: () => Promise<Lease> = () => Promise.resolve(this.lease);
  /** Waits under way. */
  readonly begun = new Set<Cancellation>();

  constructor(nodes: number) {
    const coordinator = {
      nodes: Array.from({ length: nodes }, (_, index) => ({ name: `m${index + 1}`, index })),
      quorum: quorumOf(nodes),
      nodeTimeoutFor: () => NODE_TIMEOUT_MS,
      survey: (request: Request, _nodeTimeoutMs: number, hooks?: SurveyHooks) => this.#survey(request, hooks),
    };
    this.coordinator = coordinator as unknown as Coordinator; // notes, elections and jobs use no more of it
  }

  /** The arguments of what was sent, of those scripts whose name is given. */
  argsOf(name: string): string[] {
    return this.sent
      .filter(({ request }) => scriptOf(request.command)?.name === name)
      .map(({ request }) => request.command.args.slice(1).join(' '));
  }

  notesOf(name: string): Notes {
    return new Notes(this.coordinator, name, PLACE);
  }

  acquire: Coordination['acquire'] = () => this.acquiring();

  acquireToWrite = unasked;
  oust = unasked;
  inspect = unasked;
  inspectShared = unasked;

  begin(signal: AbortSignal | undefined): Cancellation {
    const cancellation = new Cancellation(signal);
    this.begun.add(cancellation);
    return cancellation;
  }

  end(cancellation: Cancellation): void {
    this.begun.delete(cancellation);
    cancellation.dispose();
  }

  async #survey(
    request: Request,
    { isEnough = () => false }: SurveyHooks = {},
  ): Promise<readonly SurveyAnswer[]> {
    const answers: (SurveyAnswer | undefined)[] = this.coordinator.nodes.map(() => undefined);
    let awaited = 0;
    for (const answer of this.answers(request)) {
      answers[awaited++] = answer;
      if (isEnough(answers)) break;
    }
    this.sent.push({ request, awaited });
    await Promise.resolve();
    return answers.map((answer) => answer ?? { kind: 'unknown', cause: NOT_AWAITED });
  }
}
