import type { Stage } from '../stage.js';
import { Tape, type Trial } from '../tape.js';
import { claimantFor, OUR_WAYS, type OurWay } from '../ways.js';
import { each, type Scene } from './scene.js';

const TTL_MS = 500;

async function byHand(stage: Stage): Promise<Trial> {
  const [master] = stage.masters;
  if (master === undefined) throw new Error('five were started');
  const tape = new Tape('A', 'B');
  const key = 'crash:naive';
  const [a, b] = [stage.client(master), stage.client(master)];
  await a.setnx(key, 'A');
  tape.believes('A', 'SETNX → 1');
  a.disconnect();
  tape.ends('A', 'dies before it says EXPIRE', 'fault');
  const isSet = (await b.setnx(key, 'B')) === 1;
  tape.say('B', `SETNX → ${Number(isSet)}`);
  const ttl = await b.pttl(key);
  tape.say(
    'B',
    `PTTL → ${ttl}: ${ttl === -1 ? 'it never runs out' : `${ttl} ms`}`,
    ttl === -1 ? 'bad' : 'good',
  );
  return ttl === -1 && !isSet
    ? { tape, verdict: 'breaks', outcome: 'nobody ever gets it again' }
    : { tape, verdict: 'holds', outcome: 'B has it in the end' };
}

async function ours(stage: Stage, way: OurWay, resource: string): Promise<Trial> {
  const key = `crash:${resource}`;
  const tape = new Tape('A', 'B');
  const dying = await stage.quorum();
  await claimantFor(way, dying, { ttlMs: TTL_MS }).acquire(key);
  tape.believes('A', `acquires, for ${TTL_MS} ms`);
  const diedAtMs = performance.now();
  for (const client of dying) client.disconnect();
  tape.ends('A', 'dies', 'fault');
  tape.say('B', 'waits');
  const lease = await claimantFor(way, await stage.quorum(), { ttlMs: TTL_MS }).acquire(key);
  const waitedMs = Math.round(performance.now() - diedAtMs);
  tape.believes('B', `acquires, ${waitedMs} ms after the crash`, 'good');
  await lease.release();
  return { tape, verdict: 'holds', outcome: `B has it after ${waitedMs} ms` };
}

export const crash: Scene = {
  name: 'crash',
  title: 'A crash between SETNX and EXPIRE',
  weakness: 'A sets the key, and dies before it gives the key an expiry. Nobody is left to delete it.',
  answer: `The instant lies in the value, or the expiry in the same command: there is no moment in between. A crash costs one
ttl.`,
  expected: {
    naive: 'breaks',
    commands: 'holds',
    script: 'holds',
    token: 'holds',
    quorum: 'holds',
    fenced: 'holds',
  },
  drawn: ['naive', 'script'],
  async play(stage) {
    const trials = await each(OUR_WAYS, (way, key) => ours(stage, way, key));
    return trials.set('naive', await byHand(stage));
  },
};
