/** The scripts that a master in memory runs, and which of them a command names. */
import { RIGHTS } from '../../protocol/lua/rights.js';
import { SCRIPTS } from '../../protocol/lua/scripts.js';
import { TIMESTAMP_SCRIPTS } from '../../timestamp/scripts.js';
import { type Script, scriptDigest } from '../../redis/script.js';
import type { Command } from '../../redis/transport.js';

/** `npm run setup` compiles them: see `scripts/lua`. */
export const ALL_SCRIPTS: readonly Script[] = [...SCRIPTS, RIGHTS, ...TIMESTAMP_SCRIPTS];

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
