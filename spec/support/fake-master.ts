/**
 * A master in memory behind a scriptable connection: what a spec makes it do, it does, at once and in order.
 *
 * The scripts are twins of `lib/scripts.ts`; spec/scripts.spec.ts holds them against a real Redis.
 */
import { CLAIM, EXTEND, INSPECT, RELEASE, SCRIPTS, UNDO } from '../../lib/scripts.js';
import { type Command, scriptDigest, type Transport, type TransportState } from '../../lib/transport.js';
import type { FakeTime } from './fake-time.js';

/** `answer`: at once. `freeze`: commands arrive and run at `thaw`. `lose-reply`: they run, and no answer ever comes. */
export type Manner = 'answer' | 'freeze' | 'lose-reply' | 'lose-request';

interface Entry {
  readonly value: string;
  readonly expiresAtMs: number;
}

interface InFlight {
  readonly command: Command;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

const FOREIGN = '\0 something that is no lock';

/** An error as a server sends it. */
export function serverError(message: string): Error {
  const error = new Error(message);
  error.name = 'ReplyError';
  return error;
}

export class FakeMaster implements Transport {
  readonly name: string;
  isCluster = false;
  keyPrefix = '';
  state: TransportState = 'ready';
  lossReason: Error | undefined;
  manner: Manner = 'answer';
  /** How long a command takes to run and answer, in virtual ms; 0 answers in the same turn. */
  latencyMs = 0;
  /** Every command that was sent, in order. */
  readonly sent: Command[] = [];
  /** Every command that was run, in order. */
  readonly run: Command[] = [];
  /** Answers to the next commands, instead of running them; an Error rejects. */
  readonly replies: unknown[] = [];
  /** Whether scripts are known without being sent whole first. */
  knowsScripts = true;
  readonly #time: FakeTime;
  readonly #keys = new Map<string, Entry>();
  readonly #known = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #held: InFlight[] = [];

  constructor(name: string, time: FakeTime) {
    this.name = name;
    this.#time = time;
  }

  /** Commands without an answer. */
  get unanswered(): number {
    return this.#held.length;
  }

  /** Listeners on the connection. */
  get listeners(): number {
    return this.#listeners.size;
  }

  call(command: Command): Promise<unknown> {
    this.sent.push(command);
    return new Promise((resolve, reject) => {
      const one: InFlight = { command, resolve, reject };
      if (this.manner === 'lose-request') this.#held.push({ ...one, command: NOTHING });
      else if (this.manner === 'freeze') this.#held.push(one);
      else if (this.manner === 'lose-reply') {
        this.#execute(one.command);
        this.#held.push({ ...one, command: NOTHING });
      } else if (this.latencyMs > 0) this.#time.wait(this.latencyMs, () => this.#answer(one));
      else this.#answer(one);
    });
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The connection changes, and whoever watches it hears of it. */
  become(state: TransportState): void {
    this.state = state;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Runs what had arrived, in order, and answers it. */
  thaw(): void {
    this.manner = 'answer';
    for (const one of this.#held.splice(0)) if (one.command !== NOTHING) this.#answer(one);
  }

  /** The connection breaks: nothing in flight runs any more, and the client says so. */
  cut(message = 'Connection is closed.'): void {
    this.become('lost');
    for (const one of this.#held.splice(0)) one.reject(new Error(message));
  }

  /** The client gives the commands in flight up by its own `commandTimeout`; the master may run them later. */
  timeOutByClient(): void {
    for (const one of this.#held) one.reject(new Error('Command timed out'));
  }

  /** What the key holds now: a token, or undefined. */
  value(key: string): string | undefined {
    return this.#entry(key)?.value;
  }

  ttlMs(key: string): number {
    const entry = this.#entry(key);
    return entry === undefined ? -2 : entry.expiresAtMs - this.#time.now();
  }

  set(key: string, value: string, ttlMs = Infinity): void {
    this.#keys.set(key, { value, expiresAtMs: this.#time.now() + ttlMs });
  }

  setForeign(key: string): void {
    this.set(key, FOREIGN);
  }

  /** All data is gone, as after FLUSHALL or a restart without persistence. */
  forget(): void {
    this.#keys.clear();
    this.#known.clear();
  }

  get size(): number {
    return [...this.#keys.keys()].filter((key) => this.#entry(key) !== undefined).length;
  }

  #answer({ command, resolve, reject }: InFlight): void {
    if (this.replies.length > 0) {
      const reply = this.replies.shift();
      if (reply instanceof Error) reject(reply);
      else resolve(reply);
      return;
    }
    try {
      resolve(this.#execute(command));
    } catch (error) {
      reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #execute(command: Command): unknown {
    this.run.push(command);
    const [first = '', ...rest] = command.args;
    if (command.name === 'set') return this.#set(first, rest[0] ?? '', Number(rest[2]));
    const script = SCRIPTS.find(({ source }) => source === first || scriptDigest(source) === first);
    if (script === undefined) throw serverError('ERR no such script in the fake');
    if (command.name === 'eval') this.#known.add(script.name);
    else if (!this.knowsScripts && !this.#known.has(script.name)) {
      throw serverError('NOSCRIPT No matching script. Please use EVAL.');
    }
    const count = Number(rest[0]);
    return this.#runScript(script.name, rest.slice(1, 1 + count), rest.slice(1 + count));
  }

  #runScript(
    name: string,
    keys: readonly string[],
    [token = '', ttl = '', mayCreate = '']: readonly string[],
  ): unknown {
    switch (name) {
      case CLAIM.name:
        return this.#claim(keys, token, Number(ttl));
      case UNDO.name:
        return this.#undo(keys, token);
      case RELEASE.name:
        return this.#release(keys, token);
      case EXTEND.name:
        return this.#extend(keys, token, Number(ttl), mayCreate === '1');
      case INSPECT.name:
        return this.#inspect(keys[0] ?? '');
      default:
        throw serverError(`ERR no twin of ${name}`);
    }
  }

  #set(key: string, token: string, ttlMs: number): unknown {
    if (this.#entry(key) !== undefined) return null;
    this.set(key, token, ttlMs);
    return 'OK';
  }

  #claim(keys: readonly string[], token: string, ttlMs: number): unknown {
    if (keys.some((key) => this.value(key) === FOREIGN)) return [2, 0];
    const others = keys.filter((key) => this.value(key) !== undefined && this.value(key) !== token);
    if (others.length > 0) return [0, longest(others.map((key) => this.#pttl(key)))];
    for (const key of keys) this.set(key, token, ttlMs);
    return [1, 0];
  }

  #undo(keys: readonly string[], token: string): unknown {
    const deleted = this.#release(keys, token);
    const foreign = keys.some((key) => this.value(key) === FOREIGN);
    const others = keys.filter((key) => this.value(key) !== undefined && this.value(key) !== FOREIGN);
    return [
      deleted,
      others.length === 0 ? -2 : longest(others.map((key) => this.#pttl(key))),
      foreign ? 1 : 0,
    ];
  }

  #release(keys: readonly string[], token: string): number {
    const own = keys.filter((key) => this.value(key) === token);
    for (const key of own) this.#keys.delete(key);
    return own.length;
  }

  #extend(keys: readonly string[], token: string, ttlMs: number, mayCreate: boolean): unknown {
    for (const key of keys) {
      const value = this.value(key);
      if (value === FOREIGN) return [2, 0];
      if (value !== undefined && value !== token) return [0, this.#pttl(key)];
      if (value === undefined && !mayCreate) return [0, -2];
    }
    for (const key of keys) if (this.ttlMs(key) < ttlMs) this.set(key, token, ttlMs);
    return [1, 0];
  }

  #inspect(key: string): unknown {
    const value = this.value(key);
    if (value === undefined) return [0, -2, ''];
    return value === FOREIGN ? [2, this.#pttl(key), ''] : [1, this.#pttl(key), value];
  }

  #pttl(key: string): number {
    const ttlMs = this.ttlMs(key);
    return ttlMs === Infinity ? -1 : ttlMs;
  }

  #entry(key: string): Entry | undefined {
    const entry = this.#keys.get(key);
    return entry !== undefined && entry.expiresAtMs > this.#time.now() ? entry : undefined;
  }
}

const NOTHING: Command = { name: 'eval', args: [] };

function longest(ttls: readonly number[]): number {
  return ttls.includes(-1) ? -1 : Math.max(...ttls);
}
