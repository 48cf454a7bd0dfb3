/** Who has which master's vote, as the masters themselves say. */
import { Redis } from 'ioredis';
import { tokenIn } from '../../../lib/runtime/random.js';

/** What a master has for a lock: a token, nothing (null), or it is not up (undefined). */
export type Vote = string | null | undefined;

export interface Wholeness {
  /** The token that a quorum of all masters has. */
  readonly holder: string | undefined;
  /** How many of the masters that are up have it, and how many are up. */
  readonly votes: number;
  readonly up: number;
}

export function wholenessOf(found: readonly Vote[]): Wholeness {
  const quorum = Math.floor(found.length / 2) + 1;
  const up = found.filter((vote) => vote !== undefined);
  const tokens = up.map((vote) => (vote === null ? '' : tokenIn(vote)));
  const count = (token: string): number => tokens.filter((one) => one === token).length;
  const holder = tokens.find((token) => token !== '' && count(token) >= quorum);
  return { holder, votes: holder === undefined ? 0 : count(holder), up: up.length };
}

export function isWhole({ holder, votes, up }: Wholeness): boolean {
  return holder !== undefined && votes === up;
}

/** Looks at masters without the library, one connection to each. */
export class Hands {
  readonly #hands: readonly Redis[];

  constructor(ports: readonly number[]) {
    this.#hands = ports.map((port) => {
      const hand = new Redis({ host: '127.0.0.1', port, maxRetriesPerRequest: 0, retryStrategy: () => 20 });
      return hand.on('error', () => undefined); // it is restarted
    });
  }

  close(): void {
    for (const hand of this.#hands) hand.disconnect();
  }

  /** @param isUp  which masters are asked @returns for each lock what each master has */
  async look(locks: readonly string[], isUp: readonly boolean[]): Promise<Map<string, Vote[]>> {
    const answers = await Promise.all(
      this.#hands.map(async (hand, i) => {
        if (isUp[i] !== true) return undefined;
        return hand.mget(...locks).catch(() => undefined);
      }),
    );
    return new Map(locks.map((lock, at) => [lock, answers.map((votes) => votes?.[at])]));
  }
}
