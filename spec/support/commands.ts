/** Commands as the specs look at them: what kind, and with which token. */
import { MUTEX, NO_MARKER, type Scope } from '../../lib/protocol/scope.js';
import { type Entry, type EntryKind, entriesOf } from './entries.js';
import type { Command } from '../../lib/redis/transport.js';
import type { FakeMaster } from './fake-master.js';

/** `batch`: its entries are of several kinds. */
export type CommandKind = EntryKind | 'batch';

/** What requests without fencing and guard are about. */
export function plainScope(...keys: readonly string[]): Scope {
  return {
    keys,
    isFenced: false,
    kind: MUTEX,
    marker: undefined,
    guardMs: NO_MARKER,
  };
}

export function kindOf(sent: Command | Entry): CommandKind {
  if ('kind' in sent) return sent.kind;
  const [kind, ...others] = new Set(entriesOf(sent).map((entry) => entry.kind));
  return kind === undefined || others.length > 0 ? 'batch' : kind;
}

/** Of its first entry. */
export function tokenOf(sent: Command | Entry): string {
  return firstOf(sent)?.token ?? '';
}

function firstOf(sent: Command | Entry): Entry | undefined {
  return 'kind' in sent ? sent : entriesOf(sent)[0];
}

/** What was sent to a master, in order, as `kind token`; the tokens of `FakeRandom` end with their number. */
export function sentTo(master: FakeMaster): string[] {
  return master.sent.map((command) => `${kindOf(command)} ${tokenOf(command).replace(/^.*-/, '')}`.trimEnd());
}

/** The keys of its first entry, in the order of the scripts. */
export function keysOf(sent: Command | Entry): readonly string[] {
  return firstOf(sent)?.keys ?? [];
}

export function kindsSentTo(master: FakeMaster): CommandKind[] {
  return master.sent.map(kindOf);
}

/** How many fencing tokens a master was asked to accept. */
export function acceptsOf(master: FakeMaster): number {
  return kindsSentTo(master).filter((kind) => kind === 'accept').length;
}

/** Commands of that kind, once sent, stay on their way until the returned function is called; others overtake them. */
export function holdBack(master: FakeMaster, kind: CommandKind): () => void {
  const late: (() => void)[] = [];
  const send = master.call.bind(master);
  master.call = (command) => {
    if (kindOf(command) !== kind) return send(command);
    const entries = entriesOf(command);
    master.sent.push(...entries);
    return new Promise((resolve) =>
      late.push(() => {
        resolve(send(command));
        master.sent.splice(-entries.length); // they were counted already
      }),
    );
  };
  return () => {
    for (const run of late) run();
  };
}

/** Commands of that kind run as they come; their replies stay on their way until the returned function is called. */
export function holdReplies(master: FakeMaster, kind: CommandKind): () => void {
  const late: (() => void)[] = [];
  const send = master.call.bind(master);
  master.call = (command) => {
    const reply = send(command);
    return kindOf(command) === kind ? new Promise((resolve) => late.push(() => resolve(reply))) : reply;
  };
  return () => {
    master.call = send;
    for (const arrive of late.splice(0)) arrive();
  };
}

/** The next claim is refused there, whatever the lock's key holds. */
export function refuseNext(master: FakeMaster): void {
  const send = master.call.bind(master);
  master.call = (command) => {
    if (kindOf(command) !== 'claim') return send(command);
    master.call = send;
    master.sent.push(...entriesOf(command));
    return Promise.resolve([0, 500, 0]);
  };
}

/** The locks that are on a real server: counters and markers stand beside them and stay. */
export async function locksOn(redis: { keys(pattern: string): Promise<string[]> }): Promise<string[]> {
  return (await redis.keys('*')).filter((key) => !key.startsWith('quorate:'));
}

/** A command on its way: it runs, and is answered, when the spec says so. */
export interface OnItsWay {
  readonly kind: CommandKind;
  readonly token: string;
  readonly run: () => void;
}

/** From here on every command to that master stays on its way; in the order in which they were sent. */
export function gate(master: FakeMaster): OnItsWay[] {
  const onTheirWay: OnItsWay[] = [];
  const send = master.call.bind(master);
  master.call = (command) =>
    new Promise((resolve) => {
      const run = (): void => resolve(send(command));
      onTheirWay.push({ kind: kindOf(command), token: tokenOf(command), run });
    });
  return onTheirWay;
}
