/**
 * Asks one master what `diagnose` wants to know. It only reads. A master may refuse any question, or leave it unanswered: a
 * refusal leaves that point unknown, and silence ends the examination of that master.
 */
import type { Clock, Runtime, Timers } from '../runtime/clock.js';
import { publicPart } from '../runtime/random.js';
import {
  inPlainWords,
  isClientTimeout,
  isPermanent,
  notConnected,
  Silence,
  toError,
} from '../redis/server-errors.js';
import type { Command, Transport } from '../redis/transport.js';
import { clientKey, PUSH_CHANNELS } from '../protocol/keys.js';
import { HELLO, RIGHTS } from '../protocol/lua/scripts.js';
import { bestOf, type Reading } from './clock-comparison.js';
import type { Subject } from './finding.js';
import { commandsFor, type Feature, hasPushes } from './rights.js';
import { ServerInfo } from './server-info.js';

/** How many answers measure the round trip, at most. */
const TRIPS = 200;
/** … and for how long. */
const TRIPS_MS = 1_000;
/** How many times a clock is read; the reading with the shortest round trip counts. */
const READINGS = 5;
const ECHO = 'e';
/** A key of our own that is never set. */
const UNSET_KEY = 'quorate:doctor';
/** Sentinels listen to this channel of each server that they watch. */
const SENTINELS_CHANNEL = '__sentinel__:hello';
/** Errors that end an examination: the server cannot be used with this login. */
const LOGIN = /\b(?:NOAUTH|WRONGPASS)\b/;

/** The settings that `CONFIG GET` asks for. */
export const SETTINGS = ['appendfsync', 'no-appendfsync-on-rewrite', 'io-threads'] as const;
/** One of them. */
export type Setting = (typeof SETTINGS)[number];

/** What one master answered. A property that is undefined is not known. */
export interface Facts {
  readonly transport: Transport;
  /** Why the examination could not begin, or ended early. */
  failure?: Error | undefined;
  /** It wants another user or password. */
  isLoginRefused: boolean;
  /** Round trips in milliseconds, the shortest first. */
  tripsMs: readonly number[];
  info?: ServerInfo | undefined;
  readonly settings: Map<Setting, string>;
  /** How many Sentinels listen there. */
  sentinels?: number | undefined;
  /** The commands that the user may not run; undefined if that is not known. */
  refused?: readonly string[] | undefined;
  /** Why no script can be run. */
  scriptFailure?: Error | undefined;
  /** The user may not write the records that name instances. */
  isRecordRefused: boolean;
  /** Why pushes do not arrive. */
  pushFailure?: Error | undefined;
  first?: Reading | undefined;
  last?: Reading | undefined;
  /** The questions that the server refused. */
  readonly untold: Set<string>;
}

/** The master gave no answer, so nothing more is asked. */
class Unanswered extends Error {}

/** Everything but its clock's rate. Never rejects. */
export async function examine(transport: Transport, examiner: Examiner): Promise<Facts> {
  const examination = new Examination(transport, examiner);
  await examination.run();
  return examination.facts;
}

/** Reads the clock of a master that was examined again. Never rejects. */
export async function readAgain(facts: Facts, examiner: Examiner): Promise<void> {
  if (facts.failure !== undefined || facts.first === undefined) return;
  facts.last = await new Examination(facts.transport, examiner).readClock();
}

class Examination {
  readonly facts: Facts;
  readonly #transport: Transport;
  readonly #examiner: Examiner;
  readonly #endsAtMs: number;

  constructor(transport: Transport, examiner: Examiner) {
    this.#transport = transport;
    this.#examiner = examiner;
    this.#endsAtMs = examiner.clock.now() + examiner.timeoutMs;
    this.facts = {
      transport,
      isLoginRefused: false,
      isRecordRefused: false,
      tripsMs: [],
      settings: new Map(),
      untold: new Set(),
    };
  }

  async run(): Promise<void> {
    try {
      await this.#connected();
      await this.#measureTrips();
      await this.#askForInfo();
      await this.#askForRights();
      await this.#askForRecord();
      this.facts.first = await this.#readClock();
      await this.#askForPushes();
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      const { cause } = error;
      this.facts.failure = toError(cause);
      this.facts.isLoginRefused = LOGIN.test(this.facts.failure.message);
    }
  }

  async readClock(): Promise<Reading | undefined> {
    try {
      return await this.#readClock();
    } catch (error) {
      if (error instanceof Unanswered) return undefined;
      throw error;
    }
  }

  get #leftMs(): number {
    if (this.#examiner.isStopped) return 0;
    return Math.max(this.#endsAtMs - this.#examiner.clock.now(), 0);
  }

  async #connected(): Promise<void> {
    const transport = this.#transport;
    if (transport.state === 'ready') return;
    const isReady = await this.#within((finish) => transport.watch(() => transport.isReady && finish(true)));
    if (isReady !== true) throw new Unanswered('', { cause: notConnected(transport.lossReason) });
  }

  /** Waits until `begin` calls back, its time is up, or the diagnosis is cancelled. @returns undefined if it did not */
  async #within<T>(begin: (finish: (result: T) => void) => (() => void) | undefined): Promise<T | undefined> {
    const examiner = this.#examiner;
    let end = (_result: T | undefined): void => undefined;
    const ended = new Promise<T | undefined>((resolve) => (end = resolve));
    const timer = examiner.timers.wait(this.#leftMs, () => end(undefined));
    const forget = examiner.listen(() => end(undefined));
    const stop = begin(end);
    try {
      return await ended;
    } finally {
      timer.cancel();
      forget();
      stop?.();
    }
  }

  /** @throws Unanswered  @returns an error of the server, or the reply */
  async #ask(name: Command['name'], ...args: readonly string[]): Promise<unknown> {
    const startMs = this.#examiner.clock.now();
    const answer = await this.#within<{ readonly reply: unknown }>((finish) => {
      if (this.#transport.state !== 'ready') {
        finish({ reply: new Unanswered('', { cause: notConnected(this.#transport.lossReason) }) });
      } else {
        this.#transport.call({ name, args }).then(
          (reply) => finish({ reply }),
          (error: unknown) => finish({ reply: toError(error) }),
        );
      }
      return undefined;
    });
    if (answer === undefined)
      throw new Unanswered('', { cause: new Silence(this.#examiner.clock.now() - startMs) });
    const { reply } = answer;
    if (!(reply instanceof Error)) return reply;
    if (reply instanceof Unanswered) throw reply;
    if (!isAnswer(reply)) throw new Unanswered('', { cause: inPlainWords(reply) });
    return reply;
  }

  /** By `PING`, or by another command that the user may run. */
  async #measureTrips(): Promise<void> {
    const { clock } = this.#examiner;
    const questions: (readonly [Command['name'], ...string[]])[] = [
      ['ping'],
      ['time'],
      ['eval', 'return 1', '0'],
    ];
    const untilMs = clock.now() + TRIPS_MS;
    const tripsMs: number[] = [];
    while (tripsMs.length < TRIPS && (tripsMs.length === 0 || clock.now() < untilMs)) {
      const [question] = questions;
      if (question === undefined) break;
      const startMs = clock.now();
      const reply = await this.#ask(...question);
      if (reply instanceof Error) questions.shift();
      else tripsMs.push(clock.now() - startMs);
    }
    this.facts.tripsMs = tripsMs.sort((a, b) => a - b);
  }

  async #askForInfo(): Promise<void> {
    const { facts } = this;
    const info = await this.#ask('info');
    if (typeof info === 'string') facts.info = new ServerInfo(info);
    else facts.untold.add('INFO');
    for (const setting of SETTINGS) {
      const reply = await this.#ask('config', 'GET', setting);
      const found = reply instanceof Error ? undefined : pairsOf(reply).get(setting);
      if (found !== undefined) facts.settings.set(setting, found);
      else if (reply instanceof Error) facts.untold.add('CONFIG GET');
    }
    const heard = await this.#ask('pubsub', 'NUMSUB', SENTINELS_CHANNEL);
    if (!(heard instanceof Error)) facts.sentinels = Number(pairsOf(heard).get(SENTINELS_CHANNEL) ?? 0);
  }

  async #askForRights(): Promise<void> {
    const { features } = this.#examiner;
    const { database = 0 } = this.#transport;
    const args = [UNSET_KEY, this.#channel, String(database), ...commandsFor(features)];
    const reply = await this.#ask('eval', RIGHTS.source, '0', ...args);
    if (reply instanceof Error) this.facts.scriptFailure = inPlainWords(reply);
    else this.facts.refused = Array.isArray(reply) ? reply.map(String) : [];
  }

  /** Writes a record only if it is there, which it is not. */
  async #askForRecord(): Promise<void> {
    const { id, keyPrefix } = this.#examiner;
    if (keyPrefix === undefined) return;
    const reply = await this.#ask('set', clientKey(keyPrefix, `doctor-${id}`), '', 'PX', '1', 'XX');
    this.facts.isRecordRefused = reply instanceof Error && isPermanent(inPlainWords(reply));
  }

  get #channel(): string {
    return `${PUSH_CHANNELS}doctor-${this.#examiner.id}`;
  }

  /** Subscribes on a connection of its own, sends itself a push, and waits for it. */
  async #askForPushes(): Promise<void> {
    const { facts } = this;
    if (!hasPushes(this.#examiner.features) || facts.scriptFailure !== undefined) return;
    if (this.#transport.subscribe === undefined) return;
    let lost: Error | undefined;
    const outcome = await this.#within<Error | 'arrived'>((finish) => {
      const subscription = this.#transport.subscribe?.(this.#channel, {
        onOpen: () => void this.#sayHello().catch((error: unknown) => finish(toError(error))),
        onPush: () => finish('arrived'),
        onLost: (cause, isRefused) => {
          lost = cause;
          if (isRefused) finish(cause);
        },
      });
      return () => subscription?.close();
    });
    if (outcome === 'arrived' || this.#examiner.isStopped) return;
    facts.pushFailure = inPlainWords(outcome ?? lost ?? new Silence(this.#examiner.timeoutMs));
  }

  #sayHello(): Promise<unknown> {
    return this.#transport.call({ name: 'eval', args: [HELLO.source, '0', this.#channel, ECHO] });
  }

  async #readClock(): Promise<Reading | undefined> {
    const { clock } = this.#examiner;
    const readings: Reading[] = [];
    for (let left = READINGS; left > 0; left--) {
      const sentMs = clock.now();
      const reply = await this.#ask('time');
      const receivedMs = clock.now();
      if (!Array.isArray(reply)) {
        this.facts.untold.add('TIME');
        return undefined;
      }
      const [s = NaN, us = NaN] = reply.map(Number);
      readings.push({ sentMs, receivedMs, shownMs: s * 1_000 + us / 1_000 });
    }
    return bestOf(readings);
  }
}

/** The server answered, and refused. Otherwise the connection failed, or the server cannot serve anybody now. */
function isAnswer(error: Error): boolean {
  if (isClientTimeout(error) || LOGIN.test(error.message)) return false;
  if (/^(?:LOADING|BUSY|MASTERDOWN|CLUSTERDOWN)\b/.test(error.message)) return false;
  return error.name === 'ReplyError' || /^[A-Z]+ /.test(error.message);
}

/** A flat list of names and values, as RESP2 has it, or a map, as RESP3 may. */
function pairsOf(reply: unknown): ReadonlyMap<string, string> {
  if (reply instanceof Map) return new Map([...reply].map(([name, text]) => [String(name), String(text)]));
  const pairs = new Map<string, string>();
  if (Array.isArray(reply)) {
    for (let i = 0; i + 1 < reply.length; i += 2) pairs.set(String(reply[i]), String(reply[i + 1]));
  } else if (typeof reply === 'object' && reply !== null) {
    for (const [name, text] of Object.entries(reply)) pairs.set(name, String(text));
  }
  return pairs;
}

/** What an instance does, as far as it is asked about. */
type ExaminedSubject = Pick<Subject, 'features' | 'keyPrefix' | 'label'>;

/** Examines the masters, and ends the waits of all examinations at once: a `Cancellation` has one listener. */
export class Examiner {
  readonly clock: Clock;
  readonly timers: Timers;
  /** How long a master may take for the whole examination. Milliseconds. */
  readonly timeoutMs: number;
  readonly features: readonly Feature[];
  /** Distinguishes the channels of different examiners. */
  readonly id: string;
  /** Of the records that instances write; undefined if this one writes none. */
  readonly keyPrefix: string | undefined;
  isStopped = false;
  /** Bounded by the masters: each waits for one thing at a time. */
  readonly #listeners = new Set<() => void>();

  constructor({ clock, random, timers }: Runtime, timeoutMs: number, subject: ExaminedSubject) {
    const { features, keyPrefix, label } = subject;
    this.clock = clock;
    this.timers = timers;
    this.timeoutMs = timeoutMs;
    this.features = features;
    this.keyPrefix = label === false ? undefined : keyPrefix;
    this.id = publicPart(random.token());
  }

  stop(): void {
    this.isStopped = true;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls back when it is stopped, until the returned function is called. */
  listen(onStop: () => void): () => void {
    this.#listeners.add(onStop);
    if (this.isStopped) onStop();
    return () => void this.#listeners.delete(onStop);
  }
}
