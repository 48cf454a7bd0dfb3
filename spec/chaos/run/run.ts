/** One run: masters, clients, the plan, and what is left at the end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { Redlock } from '../../../lib/index.js';
import { commitOf, earlierPackage } from '../../../scripts/earlier.js';
import { Conductor } from './conductor.js';
import { type Beside, type ClientProgram, compileClients, CrewMember, type CrewNotes } from './crew.js';
import { CONDUCTOR, HistoryFile, type KeyLeft, nowMs, type RunFacts, TIMESTAMP_SERVER } from './history.js';
import { type ChaosMasters, startChaosMasters } from '../kit/masters.js';
import {
  BESIDE,
  type ChaosOptions,
  JOB,
  LEADER,
  LONGEST_TTL_MS,
  LONGEST_WAIT_MS,
  ONCE,
  ONCE_FOR_MS,
  READ_WRITE,
  SEMAPHORE,
  STAMP,
} from './options.js';
import { Seeded } from '../../simulation/world/seeded.js';
import { drawPlan, type PlanTerms } from './plan.js';
import { noteStillness } from './stillness.js';
import type { Abilities } from './abilities.js';

/** The prefix of every key, to stay clear of other locks. */
const KEY_PREFIX = 'quorate-chaos:';
/** Nothing is struck at the end of a run, so that the effects of the last heal have time to show. */
const CALM_MS = 3_000;
/** A client's longest call, its longest work, and a busy machine. */
const PROGRESS_MS = 12_000;
/**
 * By then, votes and places of crashed clients have expired, also where a clock was set back: a place in a queue lives a second
 * longer than its wait.
 */
const ORPHANS_GONE_MS = Math.max(LONGEST_TTL_MS, LONGEST_WAIT_MS + 1_000) + 500;
const EXIT_WITHIN_MS = 20_000;
const PROGRESS_LINE_MS = 10_000;

export interface RunEnvironment {
  readonly command: string;
  readonly abilities: Abilities;
  readonly signal: AbortSignal;
  say(line: string): void;
}

export function lengthForFaults({ lengthMs }: ChaosOptions): number {
  return Math.max(lengthMs - CALM_MS, 0);
}

export function termsOf(options: ChaosOptions, seed: number, { hasClocks }: Abilities): PlanTerms {
  const { masters, clients, guardMs, nodes } = options;
  const strikesMasters = nodes.length === 0;
  return {
    seed,
    lengthMs: lengthForFaults(options),
    masters,
    clients,
    guardMs,
    strikesMasters,
    hasClocks,
    longestTtlMs: LONGEST_TTL_MS,
  };
}

export async function run(options: ChaosOptions, seed: number, environment: RunEnvironment): Promise<void> {
  const { programs, remove } = await compileClients(besideOf(options));
  const history = new HistoryFile(options.folder, CONDUCTOR);
  const setting = { options, seed, environment, history, programs };
  const stopWatching = noteStillness(history); // the proxies before the masters stand still with it
  try {
    if (options.nodes.length > 0) {
      await runOver([], options.nodes, setting);
    } else {
      const names = Array.from({ length: options.masters }, (_, i) => `m${i + 1}`);
      await using servers = await startChaosMasters(options.masters + 1, {
        backend: options.backend,
        persist: true,
        clocks: environment.abilities.hasClocks,
        names: [...names, TIMESTAMP_SERVER],
      });
      const urls = servers.list.map(({ url }) => url);
      await runOver(servers.list, urls.slice(0, options.masters), setting);
    }
  } finally {
    stopWatching();
    remove();
    history.close();
  }
}

function besideOf({ beside }: ChaosOptions): Beside | undefined {
  if (beside === undefined) return undefined;
  const commit = commitOf(beside);
  return { commit, folder: earlierPackage(commit) };
}

interface Setting {
  readonly options: ChaosOptions;
  readonly seed: number;
  readonly environment: RunEnvironment;
  readonly history: HistoryFile;
  /** One for each version. */
  readonly programs: readonly ClientProgram[];
}

/** @param list  the masters, and after them the server of the timestamp locks; empty with one's own masters */
async function runOver(list: ChaosMasters['list'], urls: readonly string[], setting: Setting): Promise<void> {
  const { options, seed, environment, history, programs } = setting;
  const keys = Array.from({ length: options.keys }, (_, i) => `k${i + 1}`);
  const [masters, timestamps] = [list.slice(0, urls.length), list.slice(urls.length)];
  const servers = list.length > 0 ? list.map(({ directPort }) => `redis://127.0.0.1:${directPort}`) : urls;
  const version = await prepare(servers.slice(0, urls.length), options.guardMs);
  const facts = factsOf(
    setting,
    keys,
    version,
    timestamps.map(({ name }) => name),
  );
  history.note({ e: 'run', t: nowMs(), facts });
  const { guardMs, folder } = options;
  const crew: CrewMember[] = [];
  const notes = crewNotes(crew, history);
  const { redlock5 } = environment.abilities;
  const timestampUrl = timestamps[0]?.url ?? urls[0] ?? '';
  const order = {
    ...{ seed, urls, keys, keyPrefix: KEY_PREFIX, guardMs, folder },
    ...{ timestampUrl, missed: facts.missed, redlock5 },
  };
  for (let i = 1; i <= options.clients; i++) {
    // neighbours begin with different versions
    const first = (i - 1) % programs.length;
    const ownPrograms = [...programs.slice(first), ...programs.slice(0, first)];
    crew.push(new CrewMember(`c${i}`, ownPrograms, order, notes));
  }
  try {
    await Promise.all(crew.map((member) => member.start()));
    const { signal } = environment;
    const cast = { masters, timestamps, crew, guardMs, progressMs: PROGRESS_MS, history, signal };
    const conductor = new Conductor(cast);
    const startMs = nowMs();
    const timer = setInterval(() => {
      const { granted, refused } = notes.answers;
      const up = crew.filter(({ isUp }) => isUp).length;
      environment.say(
        `  ${Math.round((nowMs() - startMs) / 1_000)} s: ${granted} grants, ${refused} refusals, ${conductor.strokes} blows; ${up} clients run`,
      );
    }, PROGRESS_LINE_MS);
    try {
      await conductor.run(drawPlan(termsOf(options, seed, environment.abilities)), options.lengthMs);
    } finally {
      clearInterval(timer);
    }
    await Promise.all(crew.map((member) => member.stop(EXIT_WITHIN_MS)));
    await sleep(ORPHANS_GONE_MS, undefined, { signal: environment.signal });
    await noteKeys(servers, list.length > 0 ? '*' : `*${KEY_PREFIX}*`, history);
    history.note({ e: 'end', t: nowMs() });
  } finally {
    await Promise.all(crew.map((member) => member.kill()));
  }
}

function crewNotes(
  crew: readonly CrewMember[],
  history: HistoryFile,
): CrewNotes & { answers: { granted: number; refused: number } } {
  const answers = { granted: 0, refused: 0 };
  let turn = 0;
  return {
    answers,
    message: (from, message) => {
      if (message.kind === 'answer') {
        from.answeredAtMs = nowMs();
        if (message.granted) answers.granted++;
        else answers.refused++;
      } else if (message.kind === 'hand-over') {
        const others = crew.filter((member) => member !== from && member.isUp);
        others[turn++ % Math.max(1, others.length)]?.tell(message);
      }
    },
    exit: (client, meant, text) => history.note({ e: 'exit', t: nowMs(), client, meant, text }),
  };
}

function factsOf(
  { options, seed, environment, programs }: Setting,
  exclusive: readonly string[],
  redis: string,
  others: readonly string[],
): RunFacts {
  const { masters, clients, guardMs, nodes, backend } = options;
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  }; // the cast: our own file
  return {
    seed,
    command: environment.command,
    masters,
    clients,
    keys: [...exclusive, BESIDE, READ_WRITE, SEMAPHORE, LEADER, JOB, ONCE, STAMP],
    others,
    missed: new Seeded(`chaos job ${seed}`).pick(['skip', 'once', 'all'] as const),
    onceForMs: ONCE_FOR_MS,
    without: environment.abilities.without,
    backend: nodes.length > 0 ? 'nodes' : backend,
    guardMs,
    longestTtlMs: LONGEST_TTL_MS,
    progressMs: PROGRESS_MS,
    versions: {
      quorate: [version, ...programs.slice(1).map((beside) => beside.version)].join(' and '),
      redis,
      node: process.versions.node,
    },
    startedAt: new Date().toISOString(),
  };
}

/** Lets masters with a guard vote at their first start. @returns the version of the first master */
async function prepare(servers: readonly string[], guardMs: number): Promise<string> {
  const clients = servers.map((url) => new Redis(url));
  for (const client of clients) client.on('error', () => undefined);
  try {
    const redlock = new Redlock(clients, {
      keyPrefix: KEY_PREFIX,
      restartGuardMs: guardMs,
      ttlMs: LONGEST_TTL_MS,
    });
    await Promise.all(clients.map((client) => client.ping()));
    if (guardMs > 0) await redlock.bootstrap();
    await redlock.close();
    const info = (await clients[0]?.info('server')) ?? '';
    return /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown';
  } finally {
    for (const client of clients) client.disconnect();
  }
}

/** The locks, and places in queues, that are left on each server. Counters, markers and the records of jobs are meant to stay. */
async function noteKeys(servers: readonly string[], match: string, history: HistoryFile): Promise<void> {
  for (const [i, url] of servers.entries()) {
    const client = new Redis(url);
    client.on('error', () => undefined);
    try {
      const left: KeyLeft[] = [];
      for await (const keys of client.scanStream({ match, count: 1_000 })) {
        // the cast: what SCAN answers
        const own = (keys as string[]).filter(
          (key) => !/^quorate:(?:tagged:)?(?:fence|guard|record)/.test(key),
        );
        for (const key of own) left.push({ key, ttlMs: await client.pttl(key) });
      }
      history.note({ e: 'keys', t: nowMs(), target: `server ${i + 1}`, left });
    } finally {
      client.disconnect();
    }
  }
}
