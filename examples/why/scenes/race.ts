import { Gate, type Stage } from '../stage.js';
import { judge, Tape, type Trial } from '../tape.js';
import { type Claimant, claimantFor, giveBack, OUR_WAYS, type OurWay } from '../ways.js';
import { each, type Scene } from './scene.js';

const TTL_MS = 60_000;
const LEFT_BEHIND = '1000000000000'; // 2001: a holder that died long ago

/** Both see that it has run out; then each deletes it and sets its own. */
async function byHand(stage: Stage): Promise<Trial> {
  const [master] = stage.masters;
  if (master === undefined) throw new Error('five were started');
  const tape = new Tape('A', 'B');
  const key = 'race:naive';
  const [a, b] = [stage.client(master), stage.client(master)];
  await a.set(key, LEFT_BEHIND);
  for (const [who, redis] of [
    ['A', a],
    ['B', b],
  ] as const) {
    const seen = Number(await redis.get(key));
    tape.say(who, `GET: the instant is ${seen < Date.now() ? 'past' : 'not past'}`);
  }
  for (const [who, redis] of [
    ['A', a],
    ['B', b],
  ] as const) {
    await redis.del(key);
    tape.say(who, who === 'A' ? 'DEL' : 'DEL: what A has just set', who === 'A' ? 'plain' : 'fault');
    const isSet = (await redis.setnx(key, Date.now() + TTL_MS)) === 1;
    if (isSet) tape.believes(who, 'SETNX → 1: holds it', who === 'A' ? 'plain' : 'bad');
    else tape.say(who, 'SETNX → 0: is refused', 'good');
  }
  return judge(tape, 'both hold it', 'one holds it');
}

/**
 * Both see that it has run out before either goes on: by commands, GETSETs wait for each other; a script is one step.
 */
async function ours(stage: Stage, way: OurWay, resource: string): Promise<Trial> {
  const key = `race:${resource}`;
  const tape = new Tape('A', 'B');
  const sets = [await stage.quorum(), await stage.quorum()];
  if (way === 'commands' || way === 'script') await sets[0]?.[0]?.set(key, LEFT_BEHIND);
  const gate = new Gate(sets.flat());
  if (way === 'commands') gate.close('getset');
  const claimants: readonly Claimant[] = sets.map((clients) => claimantFor(way, clients, { ttlMs: TTL_MS }));
  const racing = claimants.map((claimant) => claimant.tryAcquire(key));
  if (way === 'commands') {
    await gate.arrived(2);
    for (const who of ['A', 'B']) tape.say(who, 'SETNX → 0, GET: the instant is past');
  } else for (const who of ['A', 'B']) tape.say(who, 'claims, at the same time');
  gate.open();
  const leases = await Promise.all(racing);
  for (const [i, who] of ['A', 'B'].entries()) {
    const how = way === 'commands' ? 'GETSET gives ' : '';
    if ((leases[i] ?? null) === null)
      tape.say(who, how === '' ? 'is refused' : `${how}the winner's instant: is refused`, 'good');
    else tape.believes(who, how === '' ? 'holds it' : `${how}the old instant: holds it`);
  }
  await giveBack(...leases);
  return judge(
    tape,
    'both hold it',
    leases.every((lease) => lease === null) ? 'neither holds it: both try again' : 'one holds it',
  );
}

export const race: Scene = {
  name: 'race',
  title: 'DEL and SETNX on an expired lock',
  weakness: `A holder died, and its lock has run out. Two clients see that at the same time; each deletes it and sets its own.
The second one deletes what the first has just set.`,
  answer:
    'GETSET says what it replaced: only one of them replaces what had run out. In one script nothing comes between at all.',
  expected: {
    naive: 'breaks',
    commands: 'holds',
    script: 'holds',
    token: 'holds',
    quorum: 'holds',
    fenced: 'holds',
  },
  drawn: ['naive', 'commands'],
  async play(stage) {
    const trials = await each(OUR_WAYS, (way, key) => ours(stage, way, key));
    return trials.set('naive', await byHand(stage));
  },
};
