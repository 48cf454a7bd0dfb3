/** What a master did not say comes in on a connection that quorate opened: it costs that connection, and nothing else. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { Redlock } from '../../lib/redlock.js';
import { type ChaosMasters, startChaosMasters } from '../chaos/kit/masters.js';
import { PATIENT } from '../support/patience.js';
import { ALL_KINDS, byHand, eventually, Program } from '../support/real.js';

/** Each ends a process, or keeps it busy for ever, where ioredis 6 or 5 reads it. */
const GARBAGE = [
  '*0\r\n',
  '$-1\r\n',
  '>1\r\n$-1\r\n',
  '>3\r\n$7\r\nmessage\r\n$-1\r\n$1\r\nx\r\n',
  '*3\r\n$7\r\nmessage\r\n$-1\r\n$1\r\nx\r\n',
  '*3\r\n$7\r\nmessage\r\n$14\r\nquorate:pus1:x\r\n$&\r\nw x r\r\n',
  '*4294967296\r\n',
];

interface WaiterKind {
  /** Of spec/support/programs.ts. */
  readonly program: string;
  readonly args: readonly string[];
  readonly on: 'pushes' | 'commands';
  /** The name of the connection that the garbage comes in on. */
  readonly connection: string;
  readonly by: string;
}

const WAITERS: readonly WaiterKind[] = [
  ...(['ioredis', 'redis'] as const).flatMap((client) => {
    const [program, args, by] = ['wait-in-queue', ['1', 'r', client], `Redlock.connect, ${client}`] as const;
    return [
      { program, args, by, on: 'pushes', connection: 'quorate-pushes' } as const,
      { program, args, by, on: 'commands', connection: 'quorate' } as const,
    ];
  }),
  ...ALL_KINDS.map(({ name }) => {
    const by = `a caller's ${name}`;
    return {
      program: 'wait-and-end',
      args: ['r', name],
      by,
      on: 'pushes',
      connection: 'quorate-pushes',
    } as const;
  }),
];

describe('garbled messages', () => {
  let masters: ChaosMasters;
  let hand: Redis;
  let waiter: Program | undefined;
  beforeEach(async () => {
    masters = await startChaosMasters(1, { persist: false });
    hand = byHand(masters.list[0]?.directPort ?? 0);
  });
  afterEach(async () => {
    waiter?.kill();
    hand.disconnect();
    await masters.stop();
  });

  /** The number that the master gave to the connection of that name, once it is ready; undefined while there is none. */
  async function idOf(name: string): Promise<string | undefined> {
    const list = String(await hand.client('LIST'));
    const subscriptions = name === 'quorate-pushes' ? 1 : 0;
    return new RegExp(`^id=(\\d+) .* name=${name} .* sub=${subscriptions} `, 'm').exec(list)?.[1];
  }

  for (const { program, args, on, connection, by } of WAITERS) {
    it(`N=1, on the connection for ${on} of ${by}: the process lives, connects again, and is served`, async () => {
      const holder = await new Redlock([hand], PATIENT).acquire('r');
      const waiting = new Program(program, masters.urls.join(), ...args);
      waiter = waiting;
      /** Whether it has such a connection, and not the one of before. */
      const connects = async (before?: string): Promise<string | undefined> => {
        if (waiting.process.exitCode !== null) throw new Error('the process has ended');
        const id = await idOf(connection);
        return id === before ? undefined : id;
      };
      await eventually(async () => (await hand.zcard('quorate:queue:{r}')) === 1);
      let id: string | undefined;
      await eventually(async () => (id = await connects()) !== undefined);
      for (const bytes of GARBAGE) {
        masters.list[0]?.proxy.say(Buffer.from(bytes), on);
        const before = id;
        await eventually(async () => (id = await connects(before)) !== undefined);
      }
      await holder.release();
      expect(await waiting.says('served')).to.equal('served');
      expect(await waiting.ends()).to.equal(0);
    });
  }
});
