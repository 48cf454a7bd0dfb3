import type { Redis } from 'ioredis';
import type { Stage } from '../stage.js';
import { judge, Tape, type Trial } from '../tape.js';
import { type Claimant, claimantFor, type Holding, type OurWay, SINGLE_WAYS, type Way } from '../ways.js';
import type { Scene } from './scene.js';

const TTL_MS = 60_000;

interface Player {
  readonly way: OurWay;
  readonly key: string;
  readonly own: Holding;
  readonly tape: Tape;
}

async function acquireAll(
  ways: readonly OurWay[],
  clients: readonly Redis[],
  text: string,
): Promise<Player[]> {
  return Promise.all(
    ways.map(async (way) => {
      const key = `fail-over:${way}`;
      const tape = new Tape('A', 'server', 'B');
      const own = await claimantFor(way, clients, { ttlMs: TTL_MS }).acquire(key);
      tape.believes('A', text);
      return { way, key, own, tape };
    }),
  );
}

async function challenge({ key, own, tape }: Player, b: Claimant): Promise<Trial> {
  const other = await b.tryAcquire(key);
  if (other === null) tape.say('B', 'is refused', 'good');
  else tape.believes('B', 'acquires', 'bad');
  tape.say('A', own.status === 'held' ? 'goes on: its lease is held' : 'stops');
  return judge(tape, 'B took a lock that A held', 'B was refused');
}

/** The replica's link breaks before the lock gets there; then the master dies, and the replica takes its place. */
async function onOne(stage: Stage): Promise<[Way, Trial][]> {
  const [master, replica] = stage.pair;
  const [toMaster, toReplica] = [stage.client(master), stage.client(replica)];
  await toReplica.replicaof(master.host, master.port);
  while (!(await toReplica.info('replication')).includes('master_link_status:up')) await soon();
  await replica.freeze(); // it is slow
  await toMaster.call('CLIENT', 'KILL', 'TYPE', 'replica'); // and its link breaks
  const players = await acquireAll(SINGLE_WAYS, [toMaster], 'acquires, for 60 s');
  await master.kill();
  await replica.thaw();
  await toReplica.replicaof('NO', 'ONE');
  return Promise.all(
    players.map(async (player): Promise<[Way, Trial]> => {
      player.tape.say('server', 'the master dies before the replica has the key', 'fault');
      player.tape.say('server', 'the replica is promoted, without it');
      return [player.way, await challenge(player, claimantFor(player.way, [toReplica], { ttlMs: TTL_MS }))];
    }),
  );
}

/** One of five dies, and an empty one takes its place: one vote is forgotten. */
async function onFive(stage: Stage): Promise<[Way, Trial][]> {
  const [lost] = stage.masters;
  if (lost === undefined) throw new Error('five were started');
  const before = await stage.quorum();
  const players = await acquireAll(['quorum', 'fenced'], before, 'acquires on five, for 60 s');
  await Promise.all(before.map((client) => client.ping())); // it returned at three; now all five have voted
  await lost.kill();
  await lost.restart({ empty: true });
  const clients = await stage.quorum();
  return Promise.all(
    players.map(async (player): Promise<[Way, Trial]> => {
      player.tape.say('server', 'one of five dies', 'fault');
      player.tape.say('server', 'an empty one takes its place');
      return [player.way, await challenge(player, claimantFor(player.way, clients, { ttlMs: TTL_MS }))];
    }),
  );
}

function soon(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 10));
}

export const failOver: Scene = {
  name: 'fail-over',
  title: 'Fail-over of a single master',
  weakness: `Replication does not wait. The master dies before its replica has the key; the replica is promoted, and knows of no
lock.`,
  answer: `Five masters that do not replicate: one that forgot its vote is a minority of those that gave it. Where only three
had, one that forgets is one too many: restartGuardMs keeps it from voting until that cannot matter any more.`,
  expected: { commands: 'breaks', script: 'breaks', token: 'breaks', quorum: 'holds', fenced: 'holds' },
  drawn: ['token', 'quorum'],
  async play(stage) {
    const [one, five] = await Promise.all([onOne(stage), onFive(stage)]);
    return new Map([...one, ...five]);
  },
};
