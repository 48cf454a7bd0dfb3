/**
 * The run's history: one file of JSON lines per process, appended to and never changed. Lines are written synchronously,
 * so that a process that is killed -9 loses none. No line contains a token: a lease has a made-up id.
 *
 * All instants are milliseconds of CLOCK_MONOTONIC, which is the same for all processes of a machine.
 */
import { closeSync, createReadStream, openSync, writeSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * The method by which a client asked. `nested`: a second lock while it holds a first one. `plain`, `redlock5`: not this
 * library. `closing`: a call that is under way when its instance closes.
 */
export type Manner =
  | 'acquire'
  | 'try'
  | 'using'
  | 'several'
  | 'abort'
  | 'adopt'
  | 'nested'
  | 'reentrant'
  | 'timestamp'
  | 'plain'
  | 'redlock5'
  | 'campaign'
  | 'lead'
  | 'job'
  | 'once'
  | 'closing'
  | 'close';

/**
 * How a lock is held: for reading, for writing, by some of a semaphore's permits, or `unfenced`: by one, without a fencing
 * token. Where none is given, it has one holder at a time, with a fencing token.
 */
export type Mode = 'read' | 'write' | 'unfenced' | { readonly permits: number; readonly of: number };

/** Whom a client was told of as the leader. */
export interface ToldLeader {
  readonly fence: number;
  readonly seq: number;
  readonly value: string;
}

/** What a client records. `t`: when; `op`: the call's number within its process. */
export type ClientEvent =
  /** `version`: of the library that it runs. */
  | { readonly e: 'up'; readonly t: number; readonly pid: number; readonly version: string }
  | {
      readonly e: 'ask';
      readonly t: number;
      readonly op: number;
      readonly how: Manner;
      readonly keys: readonly string[];
      readonly mode?: Mode;
      /** The longest that the call may take, as promised by the library. */
      readonly boundMs: number;
      /** How long the call may wait for others. Undefined: it ends in other ways, too. */
      readonly waitMs?: number;
    }
  | {
      readonly e: 'got';
      readonly t: number;
      readonly op: number;
      readonly lease: string;
      readonly keys: readonly string[];
      readonly fence: number;
      /** The end of its validity, by `remainingMs()`. */
      readonly until: number;
      /** The end may move by itself, by renewals. */
      readonly renew: boolean;
      /** Of the lease; earlier histories do not have it. */
      readonly ttlMs?: number;
      /** For a lease that was taken over: its earlier id. */
      readonly from?: string;
    }
  | { readonly e: 'no'; readonly t: number; readonly op: number; readonly code: string }
  /** The call settled as it should, and gave no lease. */
  | { readonly e: 'fine'; readonly t: number; readonly op: number }
  /** An extension was called. */
  | { readonly e: 'extend'; readonly t: number; readonly lease: string; readonly boundMs: number }
  /** … and settled: with a code if it failed. */
  | { readonly e: 'extended'; readonly t: number; readonly lease: string; readonly code?: string }
  /** The end of the validity was seen to have moved. */
  | { readonly e: 'more'; readonly t: number; readonly lease: string; readonly until: number }
  /** `lease.signal` was aborted. */
  | { readonly e: 'lost'; readonly t: number; readonly lease: string; readonly code: string }
  /** Its release was called, or it was handed over: the holder does not rely on it any more. */
  | { readonly e: 'release'; readonly t: number; readonly lease: string; readonly boundMs: number }
  | { readonly e: 'gave'; readonly t: number; readonly lease: string }
  | { readonly e: 'released'; readonly t: number; readonly lease: string }
  /** A lease that said `held` without validity, or the reverse. */
  | { readonly e: 'odd'; readonly t: number; readonly lease: string; readonly text: string }
  /** Its instance was replaced by a new one. */
  | { readonly e: 'renewed'; readonly t: number }
  /** A leader is about to proclaim that. */
  | { readonly e: 'proclaim'; readonly t: number; readonly lease: string; readonly value: string }
  | {
      readonly e: 'told';
      readonly t: number;
      /** By `leader()`, or by `observe()`. */
      readonly by: 'asking' | 'observing';
      readonly leader: ToldLeader | null;
    }
  /** The run of a job's tick. `wallMs`: the time of day, which the masters' clocks are compared with. */
  | {
      readonly e: 'tick';
      readonly t: number;
      readonly lease: string;
      readonly tick: number;
      readonly wallMs: number;
      readonly state: TickState;
    }
  /** A call of `once` resolved with `executed: true`; its run began then. */
  | { readonly e: 'once'; readonly t: number; readonly op: number; readonly beganT: number }
  | Still
  | { readonly e: 'down'; readonly t: number };

/** The process stood still for so long, until then. */
interface Still {
  readonly e: 'still';
  readonly t: number;
  readonly byMs: number;
}

export type TickState = 'started' | 'done' | 'failed';

export type MasterFault =
  | 'kill'
  | 'stop'
  | 'freeze'
  | 'starve'
  | 'cut'
  | 'cut-to-master'
  | 'cut-to-client'
  | 'cut-pushes'
  | 'unplug'
  | 'half-open'
  | 'delay'
  | 'full'
  | 'clock-back'
  | 'clock-slew';
export type ClientFault = 'pause' | 'starve' | 'crash';
export type FaultKind = MasterFault | ClientFault;

/** What the conductor records. */
export type ConductorEvent =
  | { readonly e: 'run'; readonly t: number; readonly facts: RunFacts }
  /** `strike`: about to strike; `struck`: done; `mend`: about to heal; `mended`: healed, quarantine included. */
  | {
      readonly e: Stroke;
      readonly t: number;
      readonly target: string;
      readonly kind: FaultKind;
      /** With which data it comes back. */
      readonly how?: string;
      /** By which a clock or a message is changed. */
      readonly byMs?: number;
    }
  | {
      readonly e: 'exit';
      readonly t: number;
      readonly client: string;
      readonly meant: boolean;
      readonly text: string;
    }
  | Still
  | { readonly e: 'keys'; readonly t: number; readonly target: string; readonly left: readonly KeyLeft[] }
  | { readonly e: 'end'; readonly t: number };
/** A key, and in how many ms it expires: −1 for never. */
export interface KeyLeft {
  readonly key: string;
  readonly ttlMs: number;
}
export type Stroke = 'strike' | 'struck' | 'mend' | 'mended';

export interface RunFacts {
  readonly seed: number;
  readonly command: string;
  readonly masters: number;
  readonly clients: number;
  /** Exclusive locks, and those that are shared. */
  readonly keys: readonly string[];
  readonly backend: string;
  readonly guardMs: number;
  readonly longestTtlMs: number;
  /** Within this time after a heal, each client has an answer. */
  readonly progressMs: number;
  /** Servers beside the masters, for timestamp locks. */
  readonly others: readonly string[];
  /** What becomes of ticks whose runner died. */
  readonly missed: 'skip' | 'once' | 'all';
  /** At most one success of `once` in this time. */
  readonly onceForMs: number;
  /** What this machine could not do, each with its reason. */
  readonly without: readonly string[];
  readonly versions: Readonly<Record<string, string>>;
  readonly startedAt: string;
}

export type HistoryEvent = ClientEvent | ConductorEvent;

export const CONDUCTOR = 'conductor';
/** The server of the timestamp locks. */
export const TIMESTAMP_SERVER = 't1';
/** The version of the library that this tree has; another one is named by its commit. */
export const PRESENT = 'present';

export function nowMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

export class HistoryFile {
  readonly #file: number;

  /** @param process  `conductor`, or a client's name and the number of its life, as in `c3.2` */
  constructor(folder: string, process: string) {
    this.#file = openSync(join(folder, `${process}.jsonl`), 'a');
  }

  note(event: HistoryEvent): void {
    writeSync(this.#file, `${JSON.stringify(event)}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** The line of an event, as in `c3.2.jsonl:17`. */
export type Place = string;

export interface Noted {
  /** The file's name without its extension. */
  readonly process: string;
  readonly place: Place;
  readonly event: HistoryEvent;
}

/** The history files of a folder, the conductor's first, then by name. */
export async function historyFiles(folder: string): Promise<string[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).sort();
  const first = `${CONDUCTOR}.jsonl`;
  if (!names.includes(first)) throw new Error(`${folder} holds no history: ${first} is missing`);
  return [first, ...names.filter((name) => name !== first)].map((name) => join(folder, name));
}

/** Reads one file, line by line. @throws Error that names a line that is not JSON */
export async function* readHistory(file: string): AsyncGenerator<Noted> {
  const name = basename(file);
  const process = name.replace(/\.jsonl$/, '');
  let number = 0;
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    const place = `${name}:${++number}`;
    let event: HistoryEvent;
    try {
      event = JSON.parse(line) as HistoryEvent; // the cast: only HistoryFile writes these files
    } catch {
      throw new Error(`${place} is no JSON: ${line.slice(0, 80)}`);
    }
    yield { process, place, event };
  }
}
