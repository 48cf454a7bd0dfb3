import type { Redis } from 'ioredis';
import { Gate, type Stage } from '../stage.js';
import { judge, Tape, type Trial } from '../tape.js';
import { claimantFor, giveBack, OUR_WAYS, type OurWay } from '../ways.js';
import { each, type Scene } from './scene.js';

const TTL_MS = 500;

/** C tries to take what B holds. */
function tell(tape: Tape, third: boolean): void {
  if (third) tape.believes('C', 'acquires what B holds', 'bad');
  else tape.say('C', 'is refused', 'good');
}

async function byHand(stage: Stage): Promise<Trial> {
  const [master] = stage.masters;
  if (master === undefined) throw new Error('five were started');
  const tape = new Tape('A', 'B', 'C');
  const key = 'late:naive';
  const redis = stage.client(master);
  const set = async (who: string): Promise<boolean> =>
    (await redis.set(key, who, 'PX', TTL_MS, 'NX')) === 'OK';
  await set('A');
  tape.believes('A', `SET NX PX ${TTL_MS}`);
  while ((await redis.exists(key)) === 1) await new Promise((resolve) => setTimeout(resolve, 5));
  tape.ends('A', 'its ttl is over while it works');
  await set('B');
  tape.believes('B', 'acquires');
  await redis.del(key);
  tape.say('A', "DEL, without a look: B's lock is gone", 'fault');
  tell(tape, await set('C'));
  return judge(tape, 'C took what B held', 'C was refused');
}

/** The release leaves in time, and is on its way for longer than the ttl. */
async function ours(stage: Stage, way: OurWay, resource: string): Promise<Trial> {
  const key = `late:${resource}`;
  const tape = new Tape('A', 'B', 'C');
  const slow = await stage.quorum();
  const gate = new Gate(slow);
  const own = await claimantFor(way, slow, { ttlMs: TTL_MS }).acquire(key);
  tape.believes('A', `acquires, for ${TTL_MS} ms`);
  gate.close('del', 'evalsha', 'eval');
  void own.release();
  await gate.arrived(1);
  const isLooked = way === 'commands';
  tape.ends(
    'A',
    isLooked ? 'GET: it is still its own. DEL, held up on its way' : 'releases; held up on its way',
    'fault',
  );
  const fast = await stage.quorum();
  const other = await claimantFor(way, fast, { ttlMs: 60_000 }).acquire(key);
  tape.believes('B', "acquires, when A's ttl is over");
  gate.open();
  await settled(slow);
  tape.say('A', isLooked ? 'its DEL arrives' : 'its release arrives: compares, and leaves it');
  const third = await claimantFor(way, fast, { ttlMs: 60_000 }).tryAcquire(key);
  tell(tape, third !== null);
  await giveBack(other, third);
  return judge(tape, 'C took what B held', 'C was refused');
}

/** What was sent before has been carried out: connections answer in order. */
async function settled(clients: readonly Redis[]): Promise<void> {
  await Promise.all(clients.map((client) => client.ping()));
}

export const lateRelease: Scene = {
  name: 'late-release',
  title: "A late release of another's lock",
  weakness: `A's ttl is over, B has the lock, and then A's DEL arrives: A was slow, or its DEL was. B's lock is gone, and C takes
it. A look before the DEL is not enough, since the DEL can be late by itself.`,
  answer:
    'The script compares and deletes in one step, where the key is: however late it comes, it leaves what is not its own.',
  expected: {
    naive: 'breaks',
    commands: 'breaks',
    script: 'holds',
    token: 'holds',
    quorum: 'holds',
    fenced: 'holds',
  },
  drawn: ['commands', 'script'],
  async play(stage) {
    const trials = await each(OUR_WAYS, (way, key) => ours(stage, way, key));
    return trials.set('naive', await byHand(stage));
  },
};
