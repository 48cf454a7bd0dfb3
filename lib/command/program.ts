/** Finds the command, runs it, and puts what goes wrong into one sentence and an exit code. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Arguments, readArguments } from './arguments.js';
import { COMMANDS, entryOf } from './catalogue.js';
import { EXIT, failureOf, misuse } from './failure.js';
import { helpFor, overview } from './help.js';
import { WATCHDOG } from './run/orders.js';
import { complain, print } from './terminal.js';

type Work = (args: Arguments, rest: readonly string[]) => Promise<number> | number;

/** Each is loaded when it is called for: `quorate run` in a crontab should start quickly. */
const WORK: Readonly<Record<string, () => Promise<Work>>> = {
  run: async () => (await import('./commands/run.js')).run,
  elect: async () => (await import('./commands/elect.js')).elect,
  cron: async () => (await import('./commands/cron.js')).cron,
  status: async () => (await import('./commands/status.js')).status,
  unlock: async () => (await import('./commands/unlock.js')).unlock,
  doctor: async () => (await import('./commands/doctor.js')).doctor,
  dashboard: async () => (await import('./commands/dashboard.js')).dashboard,
  up: async () => (await import('./commands/up.js')).up,
  bench: async () => (await import('./commands/bench.js')).bench,
  migrate: async () => (await import('./commands/migrate.js')).migrate,
  completion: async () => (await import('./commands/completion.js')).completion,
};

/** @returns the exit code */
export async function program(argv: readonly string[]): Promise<number> {
  try {
    return await carryOut(argv);
  } catch (error) {
    const { message, exitCode } = failureOf(error);
    complain(message);
    return exitCode;
  }
}

async function carryOut([name, ...args]: readonly string[]): Promise<number> {
  if (name === WATCHDOG) return (await import('./run/watchdog.js')).watch();
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') return help(args[0]);
  if (name === '--version') {
    print(version());
    return EXIT.done;
  }
  const entry = entryOf(name);
  const work = WORK[name];
  if (entry === undefined || work === undefined) throw unknown(name);
  const end = args.indexOf('--');
  const read = readArguments(entry, end < 0 ? args : args.slice(0, end), end >= 0);
  if (read.has('help')) return help(name);
  return (await work())(read, end < 0 ? [] : args.slice(end + 1));
}

function help(name: string | undefined): number {
  const entry = name === undefined ? undefined : entryOf(name);
  if (name !== undefined && entry === undefined) throw unknown(name);
  print(entry === undefined ? overview() : helpFor(entry));
  return EXIT.done;
}

function unknown(name: string): Error {
  const names = COMMANDS.map((entry) => entry.name).join(', ');
  return misuse(`${JSON.stringify(name.slice(0, 60))} is no command: there are ${names}`);
}

/** Where package.json is: one folder up from dist, two from lib/command. */
const STEPS = ['..', '../..'];

/** The version in the package's own package.json. */
function version(): string {
  const folder = dirname(fileURLToPath(import.meta.url));
  for (const step of STEPS) {
    const manifest = read(join(folder, step, 'package.json'));
    if (manifest.name === 'quorate' && manifest.version !== undefined) return manifest.version;
  }
  return 'unknown';
}

function read(path: string): { readonly name?: string; readonly version?: string } {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as { readonly name?: string; readonly version?: string };
  } catch {
    return {};
  }
}
