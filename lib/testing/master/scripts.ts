/** The scripts that a master in memory runs, and which of them a command names. */
import { RIGHTS, SCRIPTS, TIMESTAMP_SCRIPTS } from '../../protocol/lua/scripts.js';
import { type Script, scriptDigest } from '../../redis/script.js';
import type { Command } from '../../redis/transport.js';

const ALL_SCRIPTS: readonly Script[] = [...SCRIPTS, RIGHTS, ...TIMESTAMP_SCRIPTS];

const BY_SOURCE = new Map(ALL_SCRIPTS.map((script) => [script.source, script]));
let byDigest: ReadonlyMap<string, Script> | undefined;

/** The script that a command runs, by digest or by source. */
export function scriptOf({ args, name }: Command): Script | undefined {
  const [text = ''] = args;
  if (name === 'eval') return BY_SOURCE.get(text);
  if (name !== 'evalsha') return undefined;
  byDigest ??= new Map(ALL_SCRIPTS.map((script) => [scriptDigest(script.source), script]));
  return byDigest.get(text);
}
