/** One real server for the specs of a file, and the scripts as they are sent to it. */
import type { Redis } from 'ioredis';
import type { Script } from '../../lib/protocol/lua/scripts.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import type { LoneEntry } from './lone-entries.js';
import { byHand } from './real.js';

export interface Server {
  readonly redis: Redis;
  /** The id of its process. */
  readonly runId: string;
  run(script: Script, keys: readonly string[], ...args: readonly (string | number)[]): Promise<unknown>;
  /** An entry as the only one of a batch. @param as  the script as it is to run @returns its reply in full form */
  runLone(entry: LoneEntry, keys: readonly string[], as?: (script: Script) => Script): Promise<unknown>;
  /** Its wall clock, in µs. */
  micros(): Promise<number>;
  /** What comes of it for a user that may not run that command. */
  without<T>(command: string, action: () => Promise<T>): Promise<T>;
}

/** What servers say about a command in a script that the user may not run. */
export const NO_RIGHT = /can't run this command|NOPERM|ACL failure in script/;

/** The script as a server runs it whose clock stands still at that instant, in µs. */
export function atInstant({ name, source }: Script, us: number): Script {
  const time = `{'${Math.floor(us / 1_000_000)}', '${us % 1_000_000}'}`;
  const clock = `local server, time = redis, ${time}
local function run(way)
  return function(command, ...) if command == 'TIME' then return time end return way(command, ...) end
end
local redis = setmetatable({ call = run(server.call), pcall = run(server.pcall) }, { __index = server })
`;
  return { name, source: clock + source };
}

/** Makes such scripts. */
export function clockAt(us: number): (script: Script) => Script {
  return (script) => atInstant(script, us);
}

/**
 * The script; what it sets for less than that many ms lives a thousand times as long, so that nothing runs out while a spec
 * runs, however slow the machine is.
 */
export function lasting({ name, source }: Script, belowMs: number): Script {
  const longer = `local brief = redis
local function last(way)
  return function(command, ...)
    local args = {...}
    local i = command == 'PEXPIRE' and 2 or command == 'SET' and args[3] == 'PX' and 4
    if i and tonumber(args[i]) < ${belowMs} then args[i] = string.format('%d', args[i] * 1000) end
    return way(command, unpack(args))
  end
end
local redis = setmetatable({ call = last(brief.call), pcall = last(brief.pcall) }, { __index = brief })
`;
  return { name, source: longer + source };
}

/** The script, which notes in the list `sets` what it sets: what it asks for is exact, what is left of a time is not. */
export function noting({ name, source }: Script): Script {
  const notes = `local plain = redis
local function noted(way)
  return function(command, ...)
    if command == 'SET' then plain.call('RPUSH', 'sets', table.concat({...}, ' ')) end
    return way(command, ...)
  end
end
local redis = setmetatable({ call = noted(plain.call), pcall = noted(plain.pcall) }, { __index = plain })
`;
  return { name, source: notes + source };
}

/** An entry as the only one of a batch, by that client. @returns its reply in full form */
export async function runLoneOn(
  client: Redis,
  { args, replyIn, script }: LoneEntry,
  keys: readonly string[],
  as = (one: Script): Script => one,
): Promise<unknown> {
  return replyIn(await client.eval(as(script).source, keys.length, ...keys, ...args));
}

/** Starts it before the specs of this suite and empties it before each; to be called inside `describe`. */
export function oneServer(): Server {
  let masters: Masters | undefined;
  let client: Redis | undefined;
  let id = '';
  const redis = (): Redis => {
    if (client === undefined) throw new Error('it is started before the first spec');
    return client;
  };
  before(async () => {
    masters = await startMasters(1);
    client = byHand(masters.list[0]?.port ?? 0);
    id = /run_id:(\w+)/.exec(await client.info('server'))?.[1] ?? '';
  });
  after(async () => {
    client?.disconnect();
    await masters?.stop();
  });
  beforeEach(() => redis().flushall());
  return {
    get redis() {
      return redis();
    },
    get runId() {
      return id;
    },
    run: (script, keys, ...args) => redis().eval(script.source, keys.length, ...keys, ...args),
    runLone: (entry, keys, as) => runLoneOn(redis(), entry, keys, as),
    async micros() {
      const [s, us] = await redis().time();
      return Number(s) * 1_000_000 + Number(us);
    },
    async without(command, action) {
      await redis().call('ACL', 'SETUSER', 'default', `-${command}`);
      try {
        return await action();
      } finally {
        await redis().call('ACL', 'SETUSER', 'default', `+${command}`);
      }
    },
  };
}

/** Who listens to channels, and what was heard there. */
export interface Listener {
  /** What has come since the last time, as `channel text`. */
  heard(): Promise<readonly string[]>;
  /** Listens to these channels and to no others from here on. */
  listenTo(...channels: readonly string[]): Promise<void>;
}

/** A connection of its own that listens, for the specs of this suite. */
export function oneListener(server: Server): Listener {
  let client: Redis | undefined;
  let messages: string[] = [];
  let isSubscribed = false;
  const open = (): Redis => {
    client ??= server.redis
      .duplicate()
      .on('message', (channel: string, text: string) => messages.push(`${channel} ${text}`));
    return client;
  };
  after(() => client?.disconnect());
  return {
    async heard() {
      await open().ping(); // what was published before is there before the answer
      return messages.splice(0);
    },
    async listenTo(...channels) {
      if (isSubscribed) await open().unsubscribe(); // without a channel, some servers answer NOSUB
      isSubscribed = channels.length > 0;
      if (isSubscribed) await open().subscribe(...channels);
      messages = [];
    },
  };
}

const LOADS = {
  list: ['LPUSH', '1'],
  hash: ['HSET', 'f', '1'],
  set: ['SADD', '1'],
  zset: ['ZADD', '1', 'm'],
  stream: ['XADD', '*', 'f', '1'],
} as const;

export type Type = keyof typeof LOADS;
export const TYPES = Object.keys(LOADS) as readonly Type[];

/** Puts data of that type there. */
export async function putData(redis: Redis, key: string, type: Type): Promise<void> {
  const [command, ...args] = LOADS[type];
  await redis.call(command, key, ...args);
}
