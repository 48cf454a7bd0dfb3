/**
 * The process that runs specs on mutants, one after another: each with the bundle loaded anew, since much of lib is decided
 * as it is loaded, and only with those specs that come by the mutant. A mutant under which nothing is left to happen while
 * a spec waits is noticed at once; what goes on for ever is left to the process that started this one.
 */
import { createRequire } from 'node:module';
import Mocha from 'mocha';
import { isSlow } from './targets.js';
import type { Answer, LuaEdit, Order, SpecTime, Trial } from './messages.js';
import { CONSTANTS } from '../../lib/protocol/lua/constants.js';
import type { Script } from '../../lib/redis/script.js';
import { type Change, type Library, type LuaFile, readLibrary } from '../../scripts/lua/link/library.js';
import { link } from '../../scripts/lua/link/linker.js';

type Loaders = Readonly<Record<string, () => unknown>>;
type Program = (
  module: { exports: unknown },
  require: (name: string) => unknown,
  isAtWork: (id: number) => boolean,
  scriptsWith: (edits: readonly LuaEdit[]) => ReadonlyMap<string, Script>,
) => void;

const [path = '', packages = '[]', timeout = '0'] = process.argv.slice(2);
const MOST_QUESTIONS = Number.MAX_SAFE_INTEGER;
/** How many times as often as without a mutant at work a spec may ask, and how many times more. */
const QUESTIONS_FACTOR = 5;
const QUESTIONS_MORE = 20_000;
const nodeRequire = createRequire(import.meta.url);
const program = nodeRequire(path) as Program; // bundle.ts made it one
const imported = new Map<string, unknown>();
let active = 0;
let hits = new Uint8Array(0);
/** How often the spec under way may still ask for mutants, or for turns of the event loop, before it counts as endless. */
let left = Infinity;
let onHung: (() => void) | undefined;

/** What mutants ask as they are come by. @throws if they have asked far more often than without a mutant at work */
function isAtWork(id: number): boolean {
  hits[id] = 1; // out of bounds, and so ignored, unless specs are measured
  ask();
  return id === active;
}

function ask(): void {
  if (--left < 0) throw new Error('it goes on for ever');
}

/** Specs that wait for something turn by turn ask for turns in place of mutants. */
function countTurns(): void {
  const { setImmediate: wait } = globalThis;
  globalThis.setImmediate = Object.assign(
    (...args: Parameters<typeof setImmediate>) => {
      ask();
      return wait(...args);
    },
    { __promisify__: wait.__promisify__ },
  );
}

/** The scripts, by their names, with the mutant of Lua that is at work. Each is linked as its source is asked for. */
function scriptsWith(edits: readonly LuaEdit[]): ReadonlyMap<string, Script> {
  const edit = edits.find(({ id }) => isAtWork(id));
  const change: Change = (path, text) =>
    path === edit?.file ? text.slice(0, edit.start) + edit.text + text.slice(edit.end) : text;
  const library = readLibrary(change);
  return new Map([...library.scripts].map(([name, file]) => [name, scriptOf(file, library)]));
}

function scriptOf(file: LuaFile, library: Library): Script {
  let source: string | undefined;
  return {
    name: file.name,
    get source() {
      source ??= link(file, library, { constants: CONSTANTS }).source;
      return source;
    },
  };
}

/** A package as `require` would give it: what is imported from it by default is the whole. */
function required(module: { readonly default?: unknown }): unknown {
  return typeof module.default === 'function' ? module.default : module;
}

function load(): Loaders {
  const module: { exports: unknown } = { exports: undefined };
  program(module, (name) => imported.get(name) ?? nodeRequire(name), isAtWork, scriptsWith);
  return module.exports as Loaders; // bundle.ts made them
}

/** The specs of these files, or those of them that are named. */
function mochaOf(files: readonly string[], named?: ReadonlySet<string>): Mocha {
  const mocha = new Mocha({ timeout: Number(timeout), bail: named !== undefined, reporter: Silent });
  const loaders = load();
  for (const file of files) {
    const before = mocha.suite.suites.length;
    mocha.suite.emit('pre-require', globalThis, file, mocha);
    loaders[file]?.();
    for (const suite of mocha.suite.suites.slice(before)) prepare(suite, file, new Map(), named);
  }
  return mocha;
}

const names = new WeakMap<Mocha.Runnable, string>();

/** Names its specs, and leaves out those that are not asked for. */
function prepare(
  suite: Mocha.Suite,
  file: string,
  seen: Map<string, number>,
  named?: ReadonlySet<string>,
): void {
  if (timeout === '0') suite.timeout(0);
  suite.tests = suite.tests.filter((test) => {
    const title = test.fullTitle();
    const nth = (seen.get(title) ?? 0) + 1;
    seen.set(title, nth);
    const name = `${file} ${title} ${nth}`;
    names.set(test, name);
    if (timeout === '0') test.timeout(0);
    return named?.has(name) ?? !isSlow(file, title);
  });
  for (const child of suite.suites) prepare(child, file, seen, named);
}

/** Tells nothing: what happens is heard from the runner. */
class Silent extends Mocha.reporters.Base {
  override epilogue(): void {}
}

/** The mutants that were come by since the last time. */
function struck(): number[] {
  return [...hits.keys()].filter((id) => hits[id] === 1);
}

/** Runs them all, and notes how long each takes, and which mutants it comes by. */
async function measure(files: readonly string[], mutants: number): Promise<Answer> {
  hits = new Uint8Array(mutants + 1);
  const specs: SpecTime[] = [];
  const failures: string[] = [];
  for (const file of files) {
    hits.fill(0);
    const mocha = mochaOf([file]);
    const atLoad = new Set(struck());
    let startedAt = 0;
    const end = await run(mocha, (runner) => {
      runner.on('test', () => {
        for (const id of struck()) atLoad.add(id); // what hooks of suites come by counts for the whole file
        hits.fill(0);
        startedAt = performance.now();
        left = MOST_QUESTIONS;
      });
      runner.on('pass', (test) => {
        const ms = performance.now() - startedAt;
        specs.push({
          name: names.get(test) ?? '',
          file,
          ms,
          questions: MOST_QUESTIONS - left,
          hits: struck(),
        });
        hits.fill(0);
      });
      runner.on('fail', (test, error: Error) =>
        failures.push(`${file}: ${test.fullTitle()}: ${error.message}`),
      );
    });
    if (end === 'hung') failures.push(`${file}: nothing is left to happen while a spec waits`);
    for (const spec of specs) if (spec.file === file) spec.atLoad = [...atLoad];
  }
  hits = new Uint8Array(0);
  return { kind: 'measured', specs, failures };
}

/** Runs these specs until one fails. */
async function tryMutant({ id, specs, files }: Trial): Promise<Answer> {
  const questions = new Map(specs);
  active = id;
  let by: string | undefined;
  let file: string | undefined;
  try {
    const mocha = mochaOf(files, new Set(questions.keys()));
    const end = await run(mocha, (runner) => {
      runner.on('test', (test) => {
        left = QUESTIONS_FACTOR * (questions.get(names.get(test) ?? '') ?? 0) + QUESTIONS_MORE;
      });
      runner.on('fail', (test, error: Error) => {
        by ??= `${test.fullTitle()}: ${error.message}`;
        file ??= names.get(test)?.split(' ', 1)[0];
      });
    });
    if (end === 'hung') by ??= 'nothing is left to happen while a spec waits';
  } catch (error) {
    by ??= String(error);
  } finally {
    active = 0;
    left = Infinity;
  }
  return { kind: 'tried', by, file };
}

/** Lets mocha run. @returns whether it came to its end, or nothing is left that could happen before */
async function run(mocha: Mocha, watch: (runner: Mocha.Runner) => void): Promise<'ended' | 'hung'> {
  const end = await new Promise<'ended' | 'hung'>((resolve) => {
    onHung = () => resolve('hung');
    const runner = mocha.run(() => resolve('ended'));
    runner.on('test', () => process.send?.({ kind: 'going on' } satisfies Answer));
    watch(runner);
  });
  onHung = undefined;
  left = Infinity;
  // what is left of a mutant does not count against the next one
  process.removeAllListeners('uncaughtException').on('uncaughtException', () => undefined);
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', () => undefined);
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  return end;
}

async function answer(order: Order): Promise<void> {
  process.channel?.unref();
  const told = order.kind === 'measure' ? await measure(order.files, order.mutants) : await tryMutant(order);
  process.channel?.ref();
  process.send?.(told);
}

/** Mocha gives a spec without a limit a timer, too: while that runs, something is left that can happen. */
function setNoTimers(): void {
  Mocha.Runnable.prototype.resetTimeout = () => undefined;
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}

countTurns();
if (timeout === '0') setNoTimers();
process.setMaxListeners(0); // what the bundle adds as it is loaded is added for each mutant
process.on('beforeExit', () => onHung?.());
process.on('disconnect', () => process.exit()); // nobody is left to ask for anything
for (const name of JSON.parse(packages) as string[]) {
  const module: unknown = await import(name);
  imported.set(name, required(module as { readonly default?: unknown })); // as every module
}
process.on('message', (order: Order) => void answer(order).catch(fail));
process.send?.({ kind: 'ready' } satisfies Answer);
