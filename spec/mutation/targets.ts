/**
 * What is mutated, and by which specs: the files of lib that decide who holds a lock, for how long, who is next, who leads,
 * and which tick is run.
 */

import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { luaFiles } from '../../scripts/lua/link/library.js';
import { ROOT } from './bundle.js';

export interface Target {
  readonly file: string;
  /** It is Lua, and judged on a real server; otherwise it is TypeScript, under virtual time. */
  readonly isLua: boolean;
}

const TYPESCRIPT = [
  'lib/protocol/validity.ts',
  'lib/protocol/replies.ts',
  'lib/protocol/queue-request.ts',
  'lib/protocol/pushes.ts',
  'lib/protocol/batch-call.ts',
  'lib/protocol/lone-requests.ts',
  'lib/quorum/deliveries.ts',
  'lib/node/send-queue.ts',
  'lib/node/send-window.ts',
  'lib/node/round-trip.ts',
  'lib/node/call-timing.ts',
  'lib/node/pace.ts',
  'lib/node/quarantine.ts',
  'lib/protocol/node-timeout.ts',
  'lib/protocol/quorum.ts',
  'lib/quorum/round.ts',
  'lib/quorum/fence-agreement.ts',
  'lib/quorum/permit-agreement.ts',
  'lib/quorum/master-clocks.ts',
  'lib/quorum/clock-readings.ts',
  'lib/quorum/withdrawal.ts',
  'lib/quorum/grant.ts',
  'lib/quorum/renewal-batch.ts',
  'lib/quorum/repairs.ts',
  'lib/quorum/failure.ts',
  'lib/quorum/survey.ts',
  'lib/coordinator/coordinator.ts',
  'lib/coordinator/acquisition.ts',
  'lib/coordinator/local-lines.ts',
  'lib/coordinator/local-wait.ts',
  'lib/coordinator/attempt-history.ts',
  'lib/coordinator/home-master.ts',
  'lib/coordinator/undoing.ts',
  'lib/coordinator/adoption.ts',
  'lib/coordinator/extensions.ts',
  'lib/coordinator/restart-guard.ts',
  'lib/queue/queue.ts',
  'lib/queue/mute-place.ts',
  'lib/queue/queue-wait.ts',
  'lib/queue/queue-visit.ts',
  'lib/queue/queue-place.ts',
  'lib/queue/direct-vote.ts',
  'lib/queue/subscriptions.ts',
  'lib/queue/recent-contention.ts',
  'lib/lease/lease.ts',
  'lib/lease/held-leases.ts',
  'lib/lease/notes.ts',
  'lib/election/election.ts',
  'lib/election/lead.ts',
  'lib/election/leaders.ts',
  'lib/election/leadership.ts',
  'lib/election/observation.ts',
  'lib/jobs/due.ts',
  'lib/jobs/job.ts',
  'lib/jobs/masters-time.ts',
  'lib/jobs/run-once.ts',
  'lib/jobs/record.ts',
  'lib/jobs/schedule.ts',
  'lib/jobs/work.ts',
  'lib/node/batch.ts',
];
const SIMULATION_SPECS = 'spec/mutation/seeds.ts';

/**
 * Specs of which others ask the same, or almost, in less time: crowds, long times, and, of the numbers of masters from 1 to
 * 5, those that are neither one, nor odd, nor even for the first time.
 */
const SLOW = [
  /N=[25]\b/,
  /random schedules|gone: more than one.*N=[14]|renewals of many leases N=[14]/,
  /thousands of|[13],[05]00 |10,000|a month|100 waits|many that leave/,
  /every mix of|all \d+ (?:mixes|combinations)|all mixes|for every ttl|whatever they are/,
  /fast by the drift factor|silent for 20 minutes|second timer|held before the freeze|one frozen: all that/,
  /end of its wait|drainMs 0 does not|half as many|ran out without a release|earlier refusal is the error/,
  /a master that stays silent gets|renewed for long/,
  /T-E7.*N=[14]|close, N=[14] /,
  /with 20 callers each/,
  /^(?:scripts|batch|read-write).*seed \d\d:|met every (?:code of every )?script/,
];

/** Arithmetic, which is fast whatever N is. */
const FAST = /^spec\/(?:protocol\/[\w-]+|quorum\/failure)\.spec\.ts$/;

export function isSlow(file: string, title: string): boolean {
  return !FAST.test(file) && SLOW.some((pattern) => pattern.test(title));
}

/** For each folder of lib, the folders whose specs its mutants are tried on: its own, and those that it matters to. */
const JUDGES: Readonly<Record<string, readonly string[]>> = {
  protocol: ['protocol', 'quorum'],
  node: ['node', 'rules'],
  quorum: ['quorum', 'rules', 'coordinator', 'locks', 'lease'],
  coordinator: ['coordinator', 'rules', 'lease'],
  queue: ['queue', 'coordinator', 'locks'],
  lease: ['lease', 'rules', 'quorum'],
  election: ['election'],
  jobs: ['jobs'],
};

/** For files that matter to other folders than the rest of theirs. */
const OWN_JUDGES: Readonly<Record<string, readonly string[]>> = {
  'lib/protocol/replies.ts': ['protocol', 'queue', 'coordinator', 'quorum', 'locks'],
  'lib/protocol/queue-request.ts': ['protocol', 'queue'],
  'lib/protocol/pushes.ts': ['protocol', 'queue'],
  'lib/protocol/batch-call.ts': ['protocol', 'node', 'quorum'],
  'lib/protocol/lone-requests.ts': ['protocol', 'election', 'jobs'],
  'lib/lease/held-leases.ts': ['lease', 'lease/deadlock', 'rules', 'quorum'],
  'lib/lease/notes.ts': ['lease', 'election', 'jobs'],
  'lib/election/lead.ts': ['election', 'telemetry'],
};

/** Specs of what a file is for, which have another name. Most specs come by some of these files: others would be left out. */
const OWN_SPECS: Readonly<Record<string, readonly string[]>> = {
  'lib/coordinator/acquisition.ts': [
    'spec/coordinator/foreign-clients.spec.ts',
    'spec/coordinator/local-lines.spec.ts',
    'spec/coordinator/local-wait.spec.ts',
    'spec/coordinator/ousting.spec.ts',
    'spec/queue/mute-place.spec.ts',
  ],
  'lib/coordinator/attempt-history.ts': ['spec/coordinator/foreign-clients.spec.ts'],
  'lib/coordinator/coordinator.ts': [
    'spec/coordinator/foreign-clients.spec.ts',
    'spec/coordinator/ousting.spec.ts',
  ],
  'lib/coordinator/extensions.ts': ['spec/coordinator/ousting.spec.ts', 'spec/coordinator/regaining.spec.ts'],
  'lib/queue/queue.ts': ['spec/coordinator/acquisition-queue.spec.ts'],
};

const MUTEX = [
  'scripts',
  'scripts-guard',
  'batch-scripts',
  'counter-scripts',
  'direct-scripts',
  'queue-steps',
];
const QUEUE = ['queue-scripts', 'direct-scripts', 'queue-steps'];
const SHARED = ['shared-queue-scripts', 'shared-scripts', 'shared-batch-scripts', 'taken-scripts'];

/**
 * For the folders and files of Lua, from the most special on, the specs of the scripts that have them. What only asks for
 * rights is not mutated; nothing can be changed in three small ones.
 */
const LUA_JUDGES: readonly (readonly [path: string, specs: readonly string[]])[] = [
  ['scripts/masters/rights.lua', []],
  ['scripts/timestamps/timestamp-release.lua', []],
  ['parts/int.lua', []],
  ['parts/queue/spare.lua', []],
  ['scripts/masters/take.lua', ['taken-scripts']],
  ['parts/taken.lua', ['taken-scripts']],
  ['parts/entries.lua', ['batch-scripts', 'shared-batch-scripts']],
  ['parts/all-replies.lua', ['batch-scripts', 'shared-batch-scripts']],
  ['parts/counter.lua', [...MUTEX, 'in-memory', 'script-costs']],
  ['parts/mutex/extending', ['scripts', 'rest-scripts', 'batch-scripts', 'taken-scripts', 'in-memory']],
  ['parts/mutex', [...MUTEX, 'in-memory', 'script-costs']],
  ['parts/queue', [...QUEUE, 'rest-scripts', 'in-memory', 'script-costs']],
  ['parts/notes', ['note-scripts', 'in-memory']],
  ['parts/shared', [...SHARED, 'in-memory']],
  ['parts/timestamps', ['timestamp']],
  ['parts', ['scripts', 'scripts-guard', 'queue-scripts', 'shared-scripts']],
  ['scripts/mutex', [...MUTEX, ...QUEUE, 'in-memory']],
  ['scripts/masters', ['scripts', 'scripts-guard']],
  ['scripts/notes', ['note-scripts', 'in-memory']],
  ['scripts/shared', [...SHARED, 'in-memory']],
  ['scripts/timestamps', ['timestamp']],
];

export const TARGETS: readonly Target[] = [
  ...TYPESCRIPT.map((file) => ({ file, isLua: false })),
  ...luaFiles()
    .filter((file) => luaJudgesOf(file).length > 0)
    .map((file) => ({ file, isLua: true })),
];

/** Whether a file of lib is tried on that spec. */
export function isJudgedBy({ file, isLua }: Target, spec: string): boolean {
  if (isLua) return luaJudgesOf(file).includes(spec);
  if (OWN_SPECS[file]?.includes(spec) === true) return true;
  return spec === SIMULATION_SPECS || judgesOf(file).some((folder) => dirname(spec) === `spec/${folder}`);
}

/** Whether a spec is of that file, or of all: mutants of the file are always tried on it. */
export function isSpecOf({ file }: Target, spec: string): boolean {
  const mirror = file.replace(/^lib(.*)\.ts$/, 'spec$1');
  return spec.startsWith(mirror) || spec === SIMULATION_SPECS || OWN_SPECS[file]?.includes(spec) === true;
}

/** For these files: specs under virtual time, or pure ones. No server, no socket. */
export function virtualSpecs(files: readonly string[]): string[] {
  const folders = new Set(files.flatMap(judgesOf));
  const specs = [...folders].flatMap((folder) => specsIn(`spec/${folder}`));
  return [...new Set([...specs, ...files.flatMap((file) => OWN_SPECS[file] ?? []), SIMULATION_SPECS])];
}

function judgesOf(file: string): readonly string[] {
  return OWN_JUDGES[file] ?? JUDGES[basename(dirname(file))] ?? [];
}

/** For these files: specs on a real server. */
export function luaSpecs(files: readonly string[]): string[] {
  return [...new Set(files.flatMap(luaJudgesOf))];
}

function luaJudgesOf(file: string): readonly string[] {
  const names = LUA_JUDGES.find(([path]) => file.startsWith(`lib/protocol/lua/${path}`))?.[1] ?? [];
  return [...new Set(names)].map((name) =>
    name === 'timestamp' ? 'spec/timestamp/scripts.spec.ts' : `spec/protocol/lua/${name}.spec.ts`,
  );
}

function specsIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder))
    .filter((file) => file.endsWith('.spec.ts'))
    .map((file) => `${folder}/${file}`);
}
