/** What those who wait in the queue stand on: masters with pushes, their connections, virtual time. */
import { NO_MARKER, type Scope } from '../../lib/protocol/scope.js';
import { pushChannel } from '../../lib/protocol/keys.js';
import { Node } from '../../lib/node/node.js';
import { release } from '../../lib/protocol/request.js';
import { QueueWait } from '../../lib/queue/queue-wait.js';
import type { QueueWaitEnd, QueueParts } from '../../lib/queue/terms.js';
import { Subscriptions } from '../../lib/queue/subscriptions.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { type CommandKind, kindOf, plainScope, tokenOf } from './commands.js';
import type { FakeRandom } from './fake-cluster.js';
import { FakeMaster } from './fake-master.js';
import { FakeTime } from './fake-time.js';
import { reserving } from './looks.js';
import { quorumParts } from './quorum-parts.js';

export interface QueueBench extends QueueParts {
  readonly time: FakeTime;
  readonly masters: readonly FakeMaster[];
  readonly random: FakeRandom;
}

/** @param shared  another client's ground, over the same masters */
export function queueBench(count: number, shared?: QueueBench): QueueBench {
  const time = shared?.time ?? new FakeTime();
  const masters =
    shared?.masters ?? Array.from({ length: count }, (_, i) => new FakeMaster(`m${i + 1}`, time));
  for (const master of masters) master.hasPushes = true;
  const nodes = masters.map((master, i) => new Node(master, i, time));
  const parts = quorumParts(nodes, time);
  return { ...parts, time, masters, subscriptions: new Subscriptions(nodes, parts.clocks, time, time) };
}

/** Permits of the semaphore `r`. */
export const PERMITS_OF_R: Scope = {
  keys: ['r'],
  isFenced: false,
  marker: undefined,
  guardMs: NO_MARKER,
  kind: { name: 'semaphore', permits: 4, wanted: 2, slots: '' },
};

export const MINE = tokenFrom('mine', '1');
export const OTHER = tokenFrom('other', '1');
export const THIRD = tokenFrom('third', '1');

/** Another client of the library holds it there. */
export function hold(master: FakeMaster, token = OTHER, key = 'r'): void {
  master.set(key, token, 300_000);
}

/** A holder lets go, and hands over. */
export async function letGo(master: FakeMaster, token = OTHER, key = 'r'): Promise<void> {
  await master.call(release(plainScope(key), token).command);
}

/** Another client queues there, and listens. @returns what it was told, as letters */
export async function queueAs(
  master: FakeMaster,
  token: string,
  ticket: number,
  key = 'r',
): Promise<string[]> {
  const told: string[] = [];
  master.channels.subscribe(pushChannel(token), (text) => told.push(text.slice(0, 1)));
  await master.call(reserving(plainScope(key), token, ticket, 300_000).command);
  return told;
}

/** The instants at which the master is asked for a place from here on, counted from now. */
export function askedAt(master: FakeMaster, time: FakeTime): number[] {
  const startMs = time.now();
  const instants: number[] = [];
  const send = master.call.bind(master);
  master.call = (command) => {
    if (kindOf(command) === 'queue') instants.push(time.now() - startMs);
    return send(command);
  };
  return instants;
}

/** What a token of this client sent there so far, in order. */
export function kindsOf(master: FakeMaster, token = MINE): CommandKind[] {
  return master.sent.filter((command) => tokenOf(command) === token).map(kindOf);
}

/** The places in what this client sent there of that kind, in their parts. */
export function placesOf(master: FakeMaster, kind: CommandKind): string[][] {
  const mine = master.sent.filter((entry) => entry.token === MINE && entry.kind === kind);
  return mine.map(({ args: { place = '' } }) => place.split('|'));
}

/** How a stay ended, the masters that told something late, and the stay. */
export interface Waiter {
  readonly stay: QueueWait;
  readonly ends: QueueWaitEnd[];
  readonly late: string[];
}

export interface WaiterTerms {
  readonly token?: string;
  readonly waitMs?: number;
  readonly ticket?: number;
  readonly nodeTimeoutMs?: number;
  /** @default 0: votes are reserved */
  readonly directTtlMs?: number;
  /** @default without fencing */
  readonly scope?: Scope;
}

/** Queues for `r`, as `MINE` and later than whoever has a ticket below 1,000. */
export function waitIn(environment: QueueBench, terms: WaiterTerms = {}): Waiter {
  const { token = MINE, waitMs = 600_000, ticket = 1_000, nodeTimeoutMs = 100 } = terms;
  const { directTtlMs = 0, scope = plainScope('r') } = terms;
  const untilMs = environment.clock.now() + waitMs;
  const [ends, late]: [QueueWaitEnd[], string[]] = [[], []];
  const stay = new QueueWait(
    environment,
    {
      scope,
      token,
      ticket: () => ticket,
      untilMs,
      ttlMs: directTtlMs,
      handOver: directTtlMs > 0 ? 'direct' : 'reserve',
      nodeTimeoutMs,
    },
    (node) => late.push(node.name),
  );
  void stay.run().then((end) => ends.push(end));
  return { stay, ends, late };
}
