/** Commands as the specs look at them: what kind, and with which token. */
import { CLAIM, EXTEND, INSPECT, RELEASE, SCRIPTS, UNDO } from '../../lib/scripts.js';
import { type Command, scriptDigest } from '../../lib/transport.js';
import type { FakeMaster } from './fake-master.js';

export type CommandKind = 'claim' | 'undo' | 'release' | 'extend' | 'inspect';

const KINDS: Readonly<Record<string, CommandKind>> = {
  [CLAIM.name]: 'claim',
  [UNDO.name]: 'undo',
  [RELEASE.name]: 'release',
  [EXTEND.name]: 'extend',
  [INSPECT.name]: 'inspect',
};

export function kindOf({ name, args }: Command): CommandKind {
  if (name === 'set') return 'claim';
  const script = SCRIPTS.find(({ source }) => source === args[0] || scriptDigest(source) === args[0]);
  const kind = KINDS[script?.name ?? ''];
  if (kind === undefined) throw new Error('no command of lib');
  return kind;
}

export function tokenOf({ name, args }: Command): string {
  return (name === 'set' ? args[1] : args[2 + Number(args[1])]) ?? '';
}

/** What was sent to a master, in order, as `kind token`; the tokens of `FakeRandom` end with their number. */
export function sentTo(master: FakeMaster): string[] {
  return master.sent.map((command) => `${kindOf(command)} ${tokenOf(command).replace(/^.*-/, '')}`);
}

export function kindsSentTo(master: FakeMaster): CommandKind[] {
  return master.sent.map(kindOf);
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
