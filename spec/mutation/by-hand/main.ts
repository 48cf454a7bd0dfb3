/**
 * `npm run mutants [-- part of a name | --changed]`: known mutants of lib, each built into a copy of the tree of its own, and the
 * specs that have to notice it. With --changed, only those of which the file or a spec was changed since the branch left main.
 * Exits with 1 when one lived, does not fit the sources any more or keeps the specs from running.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Mutant, MUTANTS } from './mutants.js';
import { changedSince, defaultBase } from '../changed.js';
import { apply } from '../../simulation/variants/hunt.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const LEFT_OUT = new Set(['.git', 'node_modules', 'dist', 'coverage', 'output']);
/** Specs that take longer hang: those of one mutant take a few seconds. */
const LIMIT_MS = 120_000;
/** A spec that takes longer has noticed its mutant: by itself it takes a second. */
const HANGS_MS = 60_000;

/** What mocha says of a run. */
interface Run {
  readonly stats: { readonly passes: number };
  readonly failures: readonly { readonly fullTitle: string }[];
}

/** A copy of the tree, in which one mutant at a time is at work. */
class Copy {
  readonly #root = mkdtempSync(join(tmpdir(), 'quorate-mutants-'));

  constructor() {
    process.on('exit', () => rmSync(this.#root, { recursive: true, force: true }));
    cpSync(ROOT, this.#root, { recursive: true, filter: (path) => !LEFT_OUT.has(basename(path)) });
    symlinkSync(join(ROOT, 'node_modules'), join(this.#root, 'node_modules'));
  }

  /** Builds it in and runs its specs. @returns whether one noticed it, and which; or why not */
  async try(mutant: Mutant): Promise<{ readonly isKilled: boolean; readonly text: string }> {
    const path = join(this.#root, mutant.file);
    const source = readFileSync(path, 'utf8');
    try {
      writeFileSync(path, apply(source, mutant));
      const { failures, stats } = await this.run(mutant.specs);
      const [first] = failures;
      if (first === undefined) return { isKilled: false, text: `LIVED through ${stats.passes} specs` };
      return { isKilled: true, text: `killed by: ${first.fullTitle}` };
    } catch (error) {
      return { isKilled: false, text: error instanceof Error ? error.message : String(error) };
    } finally {
      writeFileSync(path, source);
    }
  }

  /** Runs these spec files up to the first failure. @throws where they do not run, or hang */
  async run(specs: readonly string[]): Promise<Run> {
    const told = join(this.#root, 'run.json');
    rmSync(told, { force: true });
    const reporter = ['--reporter', 'json', '--reporter-option', `output=${told}`];
    const how = ['--bail', '--timeout', String(HANGS_MS), ...reporter];
    const child = spawn(process.execPath, ['node_modules/mocha/bin/mocha.js', ...how, ...specs], {
      cwd: this.#root,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let wailed = '';
    child.stderr.on('data', (chunk: Buffer) => (wailed += chunk.toString()));
    const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    const signal = await new Promise((resolve) => child.on('close', (_code, by) => resolve(by)));
    clearTimeout(timer);
    if (signal !== null) throw new Error(`the specs hang: ${specs.join(' ')}`);
    try {
      return JSON.parse(readFileSync(told, 'utf8')) as Run; // mocha's own words
    } catch {
      throw new Error(`the specs do not run: ${wailed.trim()}`);
    }
  }
}

function changed(): readonly Mutant[] {
  const base = defaultBase();
  const files = changedSince(base);
  const mutants = MUTANTS.filter(({ file, specs }) => [file, ...specs].some((one) => files.has(one)));
  console.log(`${mutants.length} of ${MUTANTS.length} mutants are about what was changed since ${base}`);
  return mutants;
}

async function main(part: string): Promise<number> {
  const startedAtMs = performance.now();
  const isChanged = part === '--changed';
  const mutants = isChanged ? changed() : MUTANTS.filter(({ name }) => name.includes(part));
  if (isChanged && mutants.length === 0) return 0;
  if (mutants.length === 0) throw new Error(`no mutant has ${JSON.stringify(part)} in its name`);
  const copies = Array.from({ length: Math.min(availableParallelism(), mutants.length) }, () => new Copy());
  const [first] = copies;
  const before = await first?.run([...new Set(mutants.flatMap(({ specs }) => specs))]);
  const [broken] = before?.failures ?? [];
  if (broken !== undefined) throw new Error(`the specs fail without any mutant: ${broken.fullTitle}`);
  const left = [...mutants];
  let killed = 0;
  const work = async (copy: Copy): Promise<void> => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      const { isKilled, text } = await copy.try(mutant);
      if (isKilled) killed++;
      console.log(`${isKilled ? ' ' : '!'} ${mutant.name}: ${text}`);
    }
  };
  await Promise.all(copies.map(work));
  const tookS = Math.round((performance.now() - startedAtMs) / 1_000);
  console.log(`${killed} of ${mutants.length} mutants killed, in ${tookS} s`);
  return killed === mutants.length ? 0 : 1;
}

// the copies go in any case
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
try {
  process.exitCode = await main(process.argv[2] ?? '');
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
