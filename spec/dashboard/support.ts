/** Locks as masters show them, and masters that the specs of the poller speak for. */
import type { Reader } from '../../lib/dashboard/master-reader.js';
import type { Scanned } from '../../lib/dashboard/scan.js';
import type { LockKnown } from '../../lib/dashboard/combining.js';
import { combined } from '../../lib/dashboard/combining.js';
import { NOTHING_PUBLISHED } from '../../lib/dashboard/instances.js';
import type { HolderRead, LockRead, NoteRead } from '../../lib/dashboard/reading.js';
import { ServerInfo } from '../../lib/diagnosis/server-info.js';

export const NOW_MS = 1_800_000_000_000;

export function holderRead(holder: string, more: Partial<HolderRead> = {}): HolderRead {
  return { holder, client: `client-${holder}`, role: 'holder', slots: [], remainingMs: 10_000, ...more };
}

export function noteRead(text: string, more: Partial<NoteRead> = {}): NoteRead {
  return { isHolders: true, fence: NOW_MS * 1_000, seq: 1, writtenAtMs: NOW_MS + 3_000, text, ...more };
}

export function lockRead(more: Partial<LockRead> = {}): LockRead {
  const holders = more.holders ?? [];
  return {
    ...{ kind: holders.length === 0 ? 'none' : 'mutex', holders, holding: holders.length },
    ...{ waiting: 0, waiters: [], fence: undefined, value: undefined, record: undefined },
    ...more,
  };
}

/** A lock that all of three masters show alike. */
export function lockKnown(name: string, read: Partial<LockRead>, nowMs = NOW_MS): LockKnown {
  const one = lockRead(read);
  const answers = { name, nodes: ['a', 'b', 'c'], reads: [one, one, one], nowMs };
  const lock = combined({ ...answers, before: undefined, published: NOTHING_PUBLISHED });
  if (lock === undefined) throw new Error('there is nothing of it');
  return lock;
}

/** A master in a spec's hands. It counts what it is asked. */
export class FakeReader implements Reader {
  readonly node: string;
  state: Reader['state'] = 'up';
  cause: string | undefined;
  readonly latencyMs = 1;
  readonly info = new ServerInfo('redis_version:7.0.15\r\nused_memory:1000\r\nmaxmemory:0');
  /** What it holds. */
  readonly locks = new Map<string, LockRead>();
  asked = { times: 0, infos: 0, scans: 0, reads: 0, names: 0, texts: 0 };
  /** Instances whose records its scan finds. */
  clients: readonly string[] = [];
  /** Records and notes, by their keys. */
  readonly written = new Map<string, string>();
  lastKeys: readonly string[] = [];
  /** Names of the last `read`. */
  lastRead: readonly string[] = [];
  lastOpened: readonly string[] = [];
  #aheadMs: number;

  constructor(node: string, aheadMs = 0) {
    this.node = node;
    this.#aheadMs = aheadMs;
  }

  time(): Promise<number | undefined> {
    this.asked.times++;
    return Promise.resolve(this.state === 'up' ? this.#aheadMs : undefined);
  }

  ask(): Promise<void> {
    this.asked.infos++;
    return Promise.resolve();
  }

  scan(): Promise<Scanned> {
    this.asked.scans++;
    if (this.state !== 'up') return Promise.resolve({ names: [], clients: [], isOver: false });
    return Promise.resolve({ names: [...this.locks.keys()], clients: this.clients, isOver: true });
  }

  texts(keys: readonly string[]): Promise<readonly (string | undefined)[]> {
    this.asked.texts++;
    this.lastKeys = keys;
    return Promise.resolve(keys.map((key) => this.written.get(key)));
  }

  read(names: readonly string[], opened: ReadonlySet<string>): Promise<ReadonlyMap<string, LockRead>> {
    this.asked.reads++;
    this.asked.names += names.length;
    this.lastRead = names;
    this.lastOpened = [...opened];
    if (this.state !== 'up') return Promise.resolve(new Map());
    return Promise.resolve(new Map(names.map((name) => [name, this.locks.get(name) ?? lockRead()])));
  }
}
