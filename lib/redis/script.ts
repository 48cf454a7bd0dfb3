/** Lua scripts: how they are named on the servers, and how they run in a database other than 0. */
import { createHash } from 'node:crypto';

/** A script as it is sent: its name is for this library, the servers know it by its digest. */
export interface Script {
  readonly name: string;
  readonly source: string;
}

/** In hex, as `redis.sha1hex` has it. */
export function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

const digests = new Map<string, string>(); // bounded by the number of scripts, in each database
const sources = new Map<string, string>();

/**
 * The name under which a master keeps a script: the SHA-1 of its source, in hex. It is computed on first use: the first SHA-1
 * of a process takes milliseconds, which an import should not.
 */
export function scriptDigest(source: string): string {
  let digest = digests.get(source);
  if (digest === undefined) {
    digest = sha1(source);
    digests.set(source, digest);
    sources.set(digest, source);
  }
  return digest;
}

/** By database: the substitutes there for a script's source, and for its digest. As bounded as the scripts are. */
const standIns = new Map<number, Map<string, string>>();

/** The script that does the same in that database. @param script  its source, or its digest */
export function scriptIn(script: string, database: number): string {
  const known = standIns.get(database) ?? new Map<string, string>();
  standIns.set(database, known);
  let standIn = known.get(script);
  if (standIn === undefined) {
    const source = sources.get(script);
    standIn = source === undefined ? selecting(script, database) : scriptDigest(selecting(source, database));
    known.set(script, standIn);
  }
  return standIn;
}

/** The script with a SELECT before it. If that fails, the script does nothing. */
export function selecting(source: string, database: number): string {
  return `do
  local selected = redis.pcall('SELECT', '${database}')
  if selected.err then
    return redis.error_reply('ERR quorate needs SELECT in scripts, for database ${database} (the right +select): ' .. selected.err)
  end
end
${source}`;
}
