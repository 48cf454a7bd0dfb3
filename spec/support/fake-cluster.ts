/**
 * A whole instance over masters in memory, under virtual time.
 */
import type { WallClock } from '../../lib/runtime/clock.js';
import type { Random } from '../../lib/runtime/random.js';
import type { ThisProcess } from '../../lib/runtime/this-process.js';
import type { Transport } from '../../lib/redis/transport.js';
import type { RedlockOptions } from '../../lib/input/options.js';
import { Redlock } from '../../lib/redlock.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import { FakeMaster } from './fake-master.js';
import { FakeTime } from './fake-time.js';

/** Tokens in sequence; jitter always in the middle, unless a spec says otherwise. */
export class FakeRandom implements Random {
  fractionValue = 0.5;
  readonly tokens: string[] = [];
  readonly #client: string;

  constructor(client = 'client') {
    this.#client = client;
  }

  token(): string {
    const token = tokenFrom(this.#client, `secret-${this.tokens.length + 1}`);
    this.tokens.push(token);
    return token;
  }

  fraction(): number {
    return this.fractionValue;
  }
}

export interface Bench {
  readonly time: FakeTime;
  readonly masters: readonly FakeMaster[];
  readonly random: FakeRandom;
  readonly redlock: Redlock;
  /** Another instance over the same masters: another client's claims. @param transports  its connections to them */
  other(
    name?: string,
    options?: RedlockOptions,
    transports?: readonly Transport[],
  ): { readonly redlock: Redlock; readonly random: FakeRandom };
}

/**
 * N masters named m1…mN and one instance over them.
 *
 * @param kind  `isCluster`: each of them is a Redis Cluster, as instances find out when they are made; `hasPushes`:
 *   those who wait stand in the queue; `wall`: the wall clock of the client's machine; without it, nothing is proposed before
 *   the first reading of a master's clock; `process`: that of the instances, which have names then
 */
export function fakeCluster(
  nodes: number,
  options: RedlockOptions = {},
  {
    isCluster = false,
    hasPushes = false,
    process,
    wall,
  }: {
    readonly isCluster?: boolean;
    readonly hasPushes?: boolean;
    readonly process?: ThisProcess;
    readonly wall?: WallClock;
  } = {},
): Bench {
  const time = new FakeTime();
  const masters = Array.from({ length: nodes }, (_, i) => new FakeMaster(`m${i + 1}`, time));
  for (const master of masters) Object.assign(master, { isCluster, hasPushes });
  const over = (random: Random, own: RedlockOptions, transports: readonly Transport[] = masters): Redlock =>
    new Redlock(
      {
        ...{ transports, clock: time, timers: time, random, disconnect: () => undefined },
        idle: () => time.idleMs(),
        ...(process && { process }),
        ...(wall && { wall }),
      },
      own,
    );
  const random = new FakeRandom();
  return {
    time,
    masters,
    random,
    redlock: over(random, options),
    other(name = 'other', own = options, transports = masters) {
      const theirs = new FakeRandom(name);
      return { redlock: over(theirs, own, transports), random: theirs };
    },
  };
}
