/** What must hold of leaders at every instant of a run, by true time, and of what is told of them. */
import { tokenIn } from '../../../lib/runtime/random.js';
import { leaseUnder, validUntilMsOf } from '../../support/insides.js';
import type { Leader, Leadership } from '../../../lib/election/public.js';
import type { Checker } from '../checker/checker.js';
import type { MemoryServer } from '../../../lib/testing/master/server.js';
import type { SimulatedClient } from '../world/client.js';
import type { World } from '../world/world.js';

/** A leadership in its holder's hands. */
export interface Reign {
  readonly client: SimulatedClient;
  readonly leadership: Leadership;
  /** What the client had run when its validity was first seen to be over; undefined before. */
  ranAtEndMs: number | undefined;
  isTold: boolean;
}

/** A signal fires by the end of validity, or in the first timer phase of a process that goes on. */
const SIGNAL_MS = 20;

export class LeaderChecker {
  readonly #checker: Checker;
  readonly #world: World;
  readonly #servers: readonly MemoryServer[];
  /** The tokens of leaders, by their fences, and since when they lead. */
  readonly #tokens = new Map<number, { readonly token: string; readonly beganMs: number }>();
  readonly #reigns = new Set<Reign>();
  /** What was proclaimed, by `fence seq`. */
  readonly #values = new Map<string, string>();
  /** What each client was told last. */
  readonly #told = new Map<string, Leader>();
  #fence = 0;
  leaders = 0;
  /** Its key on the masters. */
  readonly election: string;

  constructor(world: World, checker: Checker, servers: readonly MemoryServer[], election: string) {
    this.#world = world;
    this.#checker = checker;
    this.#servers = servers;
    this.election = election;
  }

  /** @param beginning  the highest fence that was known when its campaign began */
  began(client: SimulatedClient, leadership: Leadership, beginning: number): Reign {
    const reign = { client, leadership, ranAtEndMs: undefined, isTold: false };
    void leadership.signal; // its end is listened to
    const { token } = leaseUnder(leadership);
    this.#tokens.set(leadership.fence, { token, beganMs: this.#world.nowMs });
    if (leadership.fence <= beginning)
      this.#checker.fail('leader', `${client.name} leads with fence ${leadership.fence}, after ${beginning}`);
    this.#fence = Math.max(this.#fence, leadership.fence);
    this.leaders++;
    this.#reigns.add(reign);
    return reign;
  }

  ended(reign: Reign): void {
    this.#reigns.delete(reign);
  }

  /** The highest fence of a leader so far. */
  get fence(): number {
    return this.#fence;
  }

  proclaims(fence: number, seq: number, value: string): void {
    this.#values.set(`${fence} ${seq}`, value);
  }

  /**
   * A client asks who leads. Whoever it is told of had votes as it asked, or as the answer came, unless the leadership is
   * newer than the question.
   * @returns to be called with the answer
   */
  asks(client: SimulatedClient): (leader: Leader | null) => void {
    const atMs = this.#world.nowMs;
    const holders = this.#holders();
    return (leader) => {
      this.told(client, leader);
      const told = leader === null ? undefined : this.#tokens.get(leader.fence);
      if (told === undefined || told.beganMs >= atMs) return;
      if (holders.has(told.token) || this.#holders().has(told.token)) return;
      this.#checker.fail('leader', `${client.name} was told of ${leader?.value}, who has no vote`);
    };
  }

  #holders(): ReadonlySet<unknown> {
    const owners = this.#servers.map((server) => server.get(this.election));
    return new Set(owners.map((owner) => (typeof owner === 'string' ? tokenIn(owner) : owner))); // or marked
  }

  /** A client was told who leads. */
  told({ name }: SimulatedClient, leader: Leader | null): void {
    if (leader === null) return;
    const { fence, seq, value } = leader;
    const before = this.#told.get(name);
    if (before !== undefined && (before.fence > fence || (before.fence === fence && before.seq > seq)))
      this.#checker.fail('leader', `${name} was told of ${fence}/${seq} after ${before.fence}/${before.seq}`);
    this.#told.set(name, leader);
    const proclaimed = this.#values.get(`${fence} ${seq}`);
    if (proclaimed !== undefined && proclaimed !== value)
      this.#checker.fail('leader', `${name} was told of ${value}, where ${proclaimed} was proclaimed`);
  }

  /** Its instance was replaced: it may know less. */
  forgot({ name }: SimulatedClient): void {
    this.#told.delete(name);
  }

  /** Runs after each event that woke a client. */
  look(): void {
    let believer: Reign | undefined;
    for (const reign of this.#reigns) {
      const { client, leadership } = reign;
      if (!client.isAlive) this.#reigns.delete(reign);
      else if (!client.isSuspended && this.#isValid(reign)) {
        if (believer !== undefined && !reign.isTold) {
          reign.isTold = true;
          this.#checker.fail('leader', `${believer.client.name} and ${client.name} lead`);
        }
        believer = reign;
      } else if (!client.isSuspended && !client.isPaused)
        this.#lookForSignal(reign, leadership.signal.aborted);
    }
  }

  #isValid({ client, leadership }: Reign): boolean {
    const lease = leaseUnder(leadership);
    return lease.status === 'held' && client.clock.now() < validUntilMsOf(lease);
  }

  #lookForSignal(reign: Reign, isAborted: boolean): void {
    const { client, leadership } = reign;
    if (isAborted || reign.isTold || leaseUnder(leadership).status === 'released') return;
    reign.ranAtEndMs ??= client.ranMs();
    if (client.ranMs() - reign.ranAtEndMs < SIGNAL_MS) return;
    reign.isTold = true;
    this.#checker.fail('leader', `${client.name} leads no longer, and its signal has not fired`);
  }
}
