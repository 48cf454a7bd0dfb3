/** Random calls of all scripts, alone and in batches, with numbers that are at their bounds more often than not. */
import { pushChannel } from '../../lib/protocol/keys.js';
import { AHEAD_US, BACK_US, LAST_FENCE } from '../../lib/protocol/lua/stored.js';
import { ENTRY, SHARED_ENTRY } from '../../lib/protocol/lua/entries.js';
import {
  BATCH,
  RIGHTS,
  SCRIPTS,
  SHARED_BATCH,
  type Script,
  TIMESTAMP_SCRIPTS,
} from '../../lib/protocol/lua/scripts.js';
import { MUTE_MARK, tokenIn } from '../../lib/runtime/random.js';
import type { MemoryServer } from '../../lib/testing/master/server.js';
import { tokenFrom } from '../simulation/world/seeded.js';
import type { Draw } from './draw.js';

export interface DrawnCall {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** One resource and what stands beside it. Names are not all of ASCII. */
export interface Names {
  readonly lock: string;
  readonly queue: string;
  readonly turn: string;
  readonly looks: string;
  readonly counter: string;
}

function names(lock: string): Names {
  return {
    lock,
    queue: `queue ${lock}`,
    turn: `turn ${lock}`,
    looks: `looks ${lock}`,
    counter: `count ${lock}`,
  };
}

export const MUTEXES = ['schloß', 'b', '鍵'].map(names);
export const SHARED = ['rw', 'sémaphore'].map(names);
export const [MARKER, TAKEN, NOTE, TIMESTAMP] = ['marker', 'taken', 'note', 'timestamp'];
/** Four clients of ours, of which one is dead, and a foreign one. */
export const OURS = ['ann', 'ben', 'cat', 'dan'].flatMap((name) => [
  tokenFrom(name, '1'),
  tokenFrom(name, '2'),
]);
export const FOREIGN = 'fremd-é😀';
const CHANNEL = 'quorate:push:größe';
/** Those that somebody listens to. */
export const CHANNELS = [...new Set([...OURS.slice(0, 6).map(pushChannel), CHANNEL])];
/** In ms: far enough apart to be told by their millions. */
export const TTLS = [1_000_000, 2_000_000, 3_000_000];
export const [LIFE_MS, GUARD_MS] = [7_250_000, 50_000_000];
const TICKETS = [1_790_000_000_000_001, 1_790_000_000_000_002, 2 ** 53 - 1];
const SLOTS = ['0', '1', '0,1', '1,2', '2'];
const INSTANTS = [
  '0',
  '1789999999',
  '1790000000',
  '1790000061',
  '1790000062.5',
  '1790000099',
  'text',
  '5.',
  ' 7 ',
  '0x10',
];
/** Those that decide most, more often. */
const OFTEN = [
  ...['claim', 'release', 'take', 'permit-claim', 'permit-claim'],
  ...Array.from({ length: 9 }, () => 'batch'),
  ...Array.from({ length: 6 }, () => 'shared-batch'),
];
const ALL = [...SCRIPTS, RIGHTS, ...TIMESTAMP_SCRIPTS];
const CASES = [
  ...ALL,
  ...ALL.filter(({ name }) => name.startsWith('rw') || name.startsWith('sem')),
  ...OFTEN.map(byName),
];

function byName(name: string): Script {
  const found = ALL.find((script) => script.name === name);
  if (found === undefined) throw new Error(`no script ${name}`);
  return found;
}

/** What one entry of a batch has: its keys, and what follows its token and before. */
interface Entry {
  readonly keys: readonly string[];
  readonly token: string;
  readonly rest: readonly string[];
}

export class CallDraw {
  readonly #draw: Draw;
  readonly #server: MemoryServer;
  readonly #nowUs: number;

  /** @param server  so that what is drawn is about what is there */
  constructor(draw: Draw, server: MemoryServer, nowUs: number) {
    this.#draw = draw;
    this.#server = server;
    this.#nowUs = nowUs;
  }

  call(): DrawnCall {
    const script = this.#draw.pick(CASES);
    return { script, ...this.#of(script) };
  }

  #of(script: Script): Omit<DrawnCall, 'script'> {
    if (script === BATCH) return this.#batch(false);
    if (script === SHARED_BATCH) return this.#batch(true);
    return this.#single(script.name);
  }

  #single(name: string): Omit<DrawnCall, 'script'> {
    const draw = this.#draw;
    const period = draw.pick([-1, -1, 0, GUARD_MS, GUARD_MS + 1]);
    const marker = period < 0 ? [] : [MARKER];
    const guard = String(period);
    const places = this.#places();
    const [first] = places;
    const [token, life, ttl, proposal] = [
      this.#token(first),
      this.#life(),
      this.#ttl(),
      this.#proposal(first),
    ];
    const keysOf = (...parts: readonly (keyof Names)[]): string[] =>
      parts.flatMap((part) => places.map((place) => place[part]));
    const counters = life === '0' ? [] : keysOf('counter');
    const shared = draw.pick(SHARED);
    const holder = draw.pick([...this.#members(shared), draw.pick(OURS)]);
    const line = [shared.lock, shared.queue, shared.turn, shared.looks];
    switch (name) {
      case 'claim': {
        const isQueued = draw.below(2) === 0;
        const queue = isQueued ? keysOf('queue', 'turn') : [];
        const more = isQueued ? ['1'] : [];
        return {
          keys: [...keysOf('lock'), ...queue, ...counters, ...marker],
          args: [token, ttl, life, proposal, guard, ...more],
        };
      }
      case 'undo':
      case 'release':
        return draw.below(3) === 0
          ? { keys: keysOf('lock', 'queue', 'turn'), args: [token] }
          : { keys: keysOf('lock', 'queue', 'turn', 'looks', 'counter'), args: [token, proposal] };
      case 'inspect':
        return { keys: [first.lock, first.queue, first.looks, first.counter], args: [] };
      case 'oust':
      case 'rw-oust': {
        const lock = name === 'oust' ? first.lock : shared.lock;
        const times = [draw.pick([ttl, '0', '4503599627370496']), '2000', draw.pick(['0', '1'])];
        const holders = [token, ...OURS.slice(draw.below(OURS.length))];
        return { keys: [lock], args: [draw.pick(OURS), ...times, ':thief%201', ...holders] };
      }
      case 'vouch':
        return { keys: [MARKER], args: [String(GUARD_MS)] };
      case 'bootstrap':
        return { keys: [MARKER], args: [String(draw.pick([GUARD_MS, 7])), draw.pick(['0', '1'])] };
      case 'hello':
        return { keys: [], args: [CHANNEL, 'hé'] };
      case 'rights':
        return { keys: [], args: ['k', CHANNEL, '0', 'set', 'hset', 'eval', 'nothing'] };
      case 'take':
        return { keys: [TAKEN], args: [ttl, ...OURS.slice(draw.below(3), 2 + draw.below(7))] };
      case 'note-write':
        return {
          keys: [first.lock, NOTE],
          args: [
            token,
            String(1_790_000_000_000_000 + draw.below(3)),
            String(draw.below(3)),
            '4250000',
            draw.pick(['größer €😀', 'a|b\nc', '']),
            draw.pick(['', CHANNEL]),
          ],
        };
      case 'note-drop':
        return { keys: [first.lock, NOTE], args: [token, draw.pick(['', CHANNEL])] };
      case 'note-read':
        return period > 0
          ? { keys: [first.lock, NOTE, MARKER], args: [token, guard] }
          : { keys: [first.lock, NOTE], args: [draw.pick([token, '-']), '0'] };
      case 'rw-claim': {
        const counter = life === '0' ? [] : [shared.counter];
        return {
          keys: [...line, ...counter, ...marker],
          args: [holder, this.#role(), ttl, this.#claimPlace(), life, proposal, guard],
        };
      }
      case 'permit-claim':
        return {
          keys: [...line, ...marker],
          args: [holder, ttl, draw.pick(['1', '2']), this.#permits(), this.#claimPlace(), guard],
        };
      case 'leave':
        return { keys: [...line, shared.counter], args: [holder, proposal] };
      case 'survey-shared':
        return { keys: [shared.lock, shared.queue, shared.looks, shared.counter], args: [] };
      case 'timestamp-claim':
        return {
          keys: [TIMESTAMP],
          args: [draw.pick(INSTANTS), draw.pick(INSTANTS.slice(0, 6)), '5000000', draw.pick(['s', 'ms'])],
        };
      case 'timestamp-release':
      case 'timestamp-extend':
        return {
          keys: [TIMESTAMP],
          args: [...[0, 1, 2].map(() => draw.pick(INSTANTS.slice(0, 6))), '5000000'],
        };
      default:
        throw new Error(`nothing is drawn for ${name}`);
    }
  }

  #batch(isShared: boolean): Omit<DrawnCall, 'script'> {
    const draw = this.#draw;
    const period = draw.pick([-1, -1, 0, GUARD_MS]);
    const groups = Array.from({ length: 1 + draw.below(3) }, () =>
      isShared ? this.#sharedGroup() : this.#group(),
    );
    const keys = groups.flatMap(({ entries }) => entries.flatMap((entry) => entry.keys));
    const args = groups.flatMap(({ entries, head, letter, size }) => [
      ...[letter, String(entries.length), String(size), ...head],
      ...entries.flatMap(({ rest, token }) => [token, ...rest]),
    ]);
    const list = groups.some(({ head, letter }) => 'eEDX'.includes(letter) && head.includes('2'))
      ? [TAKEN]
      : [];
    return { keys: [...keys, ...list, ...(period < 0 ? [] : [MARKER])], args: [String(period), ...args] };
  }

  #group(): { letter: string; head: readonly string[]; size: number; entries: readonly Entry[] } {
    const draw = this.#draw;
    const letter = draw.pick(Object.values(ENTRY));
    const size = 'qy'.includes(letter) || draw.below(3) > 0 ? 1 : 2;
    const [life, proposal] = [this.#life(), this.#proposal(draw.pick(MUTEXES))];
    const heads: Readonly<Record<string, readonly string[]>> = {
      ...{
        c: [this.#ttl(), life, proposal],
        l: [this.#ttl(), life, proposal],
        q: [draw.pick(['0', this.#ttl()]), life, proposal],
      },
      ...{
        a: [String(LIFE_MS)],
        u: [],
        r: [],
        v: [proposal],
        h: [proposal],
        e: [this.#ttl(), draw.pick(['0', '1', '2'])],
        y: [proposal],
      },
    };
    const counter: readonly (keyof Names)[] = life === '0' ? [] : ['counter'];
    const line: readonly (keyof Names)[] = ['lock', 'queue', 'turn'];
    const parts: Readonly<Record<string, readonly (keyof Names)[]>> = {
      ...{
        c: ['lock', ...counter],
        l: [...line, ...counter],
        a: ['lock', 'counter'],
        e: ['lock'],
        u: line,
        r: line,
      },
    };
    const entries = Array.from({ length: 1 + draw.below(3) }, (): Entry => {
      const places = this.#places().slice(0, size);
      const chosen =
        places.length < size
          ? [...places, ...MUTEXES.filter((one) => !places.includes(one))].slice(0, size)
          : places;
      const [first = names('none')] = chosen;
      const keys = (parts[letter] ?? [...line, 'looks', 'counter']).flatMap((part) =>
        chosen.map((one) => one[part]),
      );
      if (letter === 'y') {
        const [place, token] = this.#yielded(first);
        return { keys, token, rest: [place] };
      }
      const rest = letter === 'q' ? [this.#place()] : letter === 'a' ? [this.#proposal(first)] : [];
      return { keys, token: letter === 'q' ? draw.pick(OURS) : this.#token(first), rest };
    });
    return { letter, head: heads[letter] ?? [], size, entries };
  }

  #sharedGroup(): { letter: string; head: readonly string[]; size: number; entries: readonly Entry[] } {
    const draw = this.#draw;
    const letter = draw.pick([...Object.values(SHARED_ENTRY), SHARED_ENTRY.queue, SHARED_ENTRY.queue]);
    const [life, role, create] = [this.#life(), this.#role(), draw.pick(['0', '1', '2'])];
    const entry = SHARED_ENTRY;
    const proposal = this.#proposal(draw.pick(SHARED));
    const wanted = draw.pick(['1', '2']);
    const want = draw.pick(['r', 'r', 'w', `${wanted}/${this.#permits()}`]);
    const heads: Readonly<Record<string, readonly string[]>> = {
      [entry.claim]: [role, this.#ttl(), life, proposal],
      [entry.accept]: [String(LIFE_MS)],
      [entry.extend]: [role, this.#ttl(), create],
      [entry.downgrade]: ['r', this.#ttl(), create, proposal],
      [entry.claimPermits]: [this.#ttl(), wanted, this.#permits()],
      [entry.align]: [this.#permits(), proposal],
      [entry.extendPermits]: [this.#ttl(), this.#permits(), create],
      [entry.leave]: [proposal],
      [entry.queue]: [want, draw.pick(['0', this.#ttl()]), want === 'w' ? life : '0', proposal],
      [entry.yield]: [want, proposal],
    };
    const entries = Array.from({ length: 1 + draw.below(3) }, (): Entry => {
      const place = draw.pick(SHARED);
      const [held, token] = this.#heldShared(place);
      const rests: Readonly<Record<string, readonly string[]>> = {
        [entry.claim]: [this.#claimPlace()],
        [entry.claimPermits]: [this.#claimPlace()],
        [entry.accept]: [proposal],
        [entry.align]: [draw.pick(SLOTS)],
        [entry.extendPermits]: [draw.pick(SLOTS)],
        [entry.queue]: [this.#place()],
        [entry.yield]: [held],
      };
      const queue = [place.queue, place.turn, place.looks];
      const { accept, claim, claimPermits, extend, extendPermits } = entry;
      const line = letter === accept || letter === extend || letter === extendPermits ? [] : queue;
      const isCounted =
        letter === claim ? life !== '0' : letter === accept || (line.length > 0 && letter !== claimPermits);
      const keys = [place.lock, ...line, ...(isCounted ? [place.counter] : [])];
      const named = letter === entry.yield ? token : draw.pick([...this.#members(place), draw.pick(OURS)]);
      return { keys, token: named, rest: rests[letter] ?? [] };
    });
    return { letter, head: heads[letter] ?? [], size: 1, entries };
  }

  /** A vote that was handed over, as a yield names it. */
  #heldShared(place: Names): readonly [place: string, token: string] {
    const draw = this.#draw;
    const fields = this.#server.fields(place.lock);
    const marked =
      typeof fields === 'symbol' ? [] : [...fields].filter(([, text]) => text.split('|').length > 3);
    const [token, text] = marked.length > 0 ? draw.pick(marked) : [draw.pick(OURS), ''];
    const rest = draw.below(2) === 0 ? [] : ['1'];
    const serial = draw.pick([text.split('|')[3] ?? '7', text.split('|')[3] ?? '7', '7']);
    return [[serial, draw.pick(TICKETS), draw.pick([0, ...TTLS]), ...rest].join('|'), token];
  }

  /** None, that of a waiter, or a mute one. */
  #claimPlace(): string {
    const draw = this.#draw;
    return draw.pick(['', 'q', `${draw.pick(OURS)}${MUTE_MARK}|${draw.pick(TICKETS)}`]);
  }

  #places(): readonly [Names, ...Names[]] {
    const draw = this.#draw;
    const from = draw.below(MUTEXES.length);
    const [first = names('none'), second = first] = [...MUTEXES.slice(from), ...MUTEXES];
    return draw.below(3) === 0 ? [first, second] : [first];
  }

  /** Mostly that of who holds it. */
  #token({ lock }: Names): string {
    const found = this.#server.get(lock);
    const holder = typeof found === 'string' ? tokenIn(found) : undefined;
    return this.#draw.pick([
      holder ?? this.#draw.pick(OURS),
      this.#draw.pick(OURS),
      this.#draw.pick([...OURS, FOREIGN]),
    ]);
  }

  #members({ lock }: Names): readonly string[] {
    const fields = this.#server.fields(lock);
    return typeof fields === 'symbol' ? [] : [...fields.keys()].filter((name) => OURS.includes(name));
  }

  #yielded({ turn }: Names): readonly [place: string, token: string] {
    const draw = this.#draw;
    const found = this.#server.get(turn);
    const [serial = '', named = ''] = typeof found === 'string' ? found.split('|') : [];
    const rest = draw.below(2) === 0 ? [] : ['1'];
    const place = [draw.pick([serial, serial, '7']), draw.pick(TICKETS), draw.pick([0, ...TTLS]), ...rest];
    return [place.join('|'), draw.pick([named, named, draw.pick(OURS)])];
  }

  #place(): string {
    return [this.#draw.pick(TICKETS), this.#draw.pick(TTLS), this.#draw.below(1_000)].join('|');
  }

  #ttl(): string {
    return String(this.#draw.pick(TTLS));
  }

  #life(): string {
    return this.#draw.pick(['0', String(LIFE_MS), String(LIFE_MS)]);
  }

  #role(): string {
    return this.#draw.pick(['r', 'r', 'w']);
  }

  #permits(): string {
    return this.#draw.pick(['3', '3', '3', '2']);
  }

  /** At the bounds of the clock, of the counter, or far from both. */
  #proposal({ counter }: Names): string {
    const draw = this.#draw;
    const found = this.#server.get(counter);
    const count = typeof found === 'string' ? Math.floor(Number(found)) || 0 : 0;
    const bound =
      this.#nowUs +
      draw.pick([-BACK_US, -BACK_US / 2, 0, AHEAD_US, AHEAD_US / 2, LIFE_MS * 1_000, 9e6, -9e6]);
    const drawn = draw.pick([bound, bound, bound, count]) + draw.pick([-1, 0, 0, 1]);
    return draw.below(12) === 0 ? '0' : String(Math.min(Math.max(1, drawn), LAST_FENCE));
  }
}
