/** What those who wait in line stand on: masters with pushes, their lines, virtual time. */
import { pushChannel } from '../../lib/keys.js';
import { Node } from '../../lib/node.js';
import { queueing } from '../../lib/queue-request.js';
import { release } from '../../lib/request.js';
import type { StayGround } from '../../lib/stay.js';
import { Subscriptions } from '../../lib/subscriptions.js';
import { tokenFrom } from '../../lib/testing/seeded.js';
import { kindOf, plainScope } from './commands.js';
import { FakeRandom } from './fake-cluster.js';
import { FakeMaster } from './fake-master.js';
import { FakeTime } from './fake-time.js';

export interface LineGround extends StayGround {
  readonly time: FakeTime;
  readonly masters: readonly FakeMaster[];
  readonly random: FakeRandom;
}

export function lineGround(count: number): LineGround {
  const time = new FakeTime();
  const masters = Array.from({ length: count }, (_, i) => new FakeMaster(`m${i + 1}`, time));
  for (const master of masters) master.hasPushes = true;
  const nodes = masters.map((master, i) => new Node(master, i, time));
  const subscriptions = new Subscriptions(nodes, time, time);
  return { time, masters, nodes, clock: time, timers: time, random: new FakeRandom(), subscriptions };
}

export const MINE = tokenFrom('mine', '1');
export const OTHER = tokenFrom('other', '1');
export const THIRD = tokenFrom('third', '1');

/** Another client of the library holds it there. */
export function hold(master: FakeMaster, token = OTHER, key = 'r'): void {
  master.set(key, token, 300_000);
}

/** A holder lets go, and hands over. */
export async function letGo(master: FakeMaster, token = OTHER, key = 'r'): Promise<void> {
  await master.call(release(plainScope(key), token, 0).command);
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
  await master.call(queueing(plainScope(key), token, ticket, 300_000).command);
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
