/** Commands as the specs look at them: what kind, and with which token. */
import {
  ACCEPT,
  BOOTSTRAP,
  CLAIM,
  EXTEND,
  HELLO,
  INSPECT,
  QUEUE,
  RELEASE,
  UNDO,
  VOUCH,
  YIELD,
} from '../../lib/protocol/lua/scripts.js';
import { MUTEX, NO_MARKER, type Scope } from '../../lib/protocol/scope.js';
import { entriesOf, isBatch } from './entries.js';
import { scriptOf } from '../../lib/testing/master/execution.js';
import type { Command } from '../../lib/redis/transport.js';
import type { FakeMaster } from './fake-master.js';

export type CommandKind =
  | 'claim'
  | 'accept'
  | 'undo'
  | 'release'
  | 'extend'
  | 'queue'
  | 'yield'
  | 'inspect'
  | 'vouch'
  | 'bootstrap'
  | 'hello'
  | 'lesson'
  | 'time'
  | 'batch';

const KINDS: Readonly<Record<string, CommandKind>> = {
  [CLAIM.name]: 'claim',
  [ACCEPT.name]: 'accept',
  [UNDO.name]: 'undo',
  [RELEASE.name]: 'release',
  [EXTEND.name]: 'extend',
  [QUEUE.name]: 'queue',
  [YIELD.name]: 'yield',
  [INSPECT.name]: 'inspect',
  [VOUCH.name]: 'vouch',
  [BOOTSTRAP.name]: 'bootstrap',
};

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

export function kindOf(command: Command): CommandKind {
  if (command.name === 'set') return 'claim';
  if (command.name === 'time') return 'time';
  if (scriptOf(command) === HELLO) return 'hello';
  if (command.args[1] === '0') return 'lesson'; // on no keys: the master shall know the script, and do nothing
  if (isBatch(command)) {
    const kinds = new Set(entriesOf(command).map(kindOf));
    return kinds.size === 1 ? ([...kinds][0] ?? 'batch') : 'batch';
  }
  const kind = KINDS[scriptOf(command)?.name ?? ''];
  if (kind === undefined) throw new Error('no command of lib');
  return kind;
}

export function tokenOf({ name, args }: Command): string {
  return (name === 'set' ? args[1] : args[1] === '0' ? '' : args[2 + Number(args[1])]) ?? '';
}

/** What was sent to a master, in order, as `kind token`; the tokens of `FakeRandom` end with their number. */
export function sentTo(master: FakeMaster): string[] {
  return master.sent.map((command) => `${kindOf(command)} ${tokenOf(command).replace(/^.*-/, '')}`.trimEnd());
}

/** The keys of that kind's commands, in the order of its script. */
export function keysOf({ name, args }: Command): readonly string[] {
  return name === 'set' ? args.slice(0, 1) : args.slice(2, 2 + Number(args[1]));
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
    master.sent.push(command);
    return new Promise((resolve) =>
      late.push(() => {
        resolve(send(command));
        master.sent.pop(); // it was counted already
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
    master.sent.push(command);
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
