/** Runs specs in a process of its own, with a mistake built in or without. */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { bundle } from './bundle.js';
import type { Patch } from './mistake.js';
import { ROOT, sources } from './source/patches.js';

/** How specs went. */
export interface SpecRun {
  readonly passes: number;
  /** The first that failed. */
  readonly failed: string | undefined;
  /** Why they did not run, or did not end. */
  readonly crash: string | undefined;
}

interface Terms {
  readonly name: string;
  readonly patches: readonly Patch[];
  readonly specs: readonly string[];
}

/** Specs that take longer hang, though there be few cores for them. */
const LIMIT_MS = 600_000;
/** A spec that takes longer has noticed its mistake: by itself, on a core of its own, it takes a second. */
const HANGS_MS = 120_000;
/** They start processes of lib, or load its files by themselves: a bundle would not change those. */
const NOT_BUNDLED = new Set(['spec/command/commands.spec.ts', 'spec/runtime/clock.spec.ts']);
const LEFT_OUT = new Set(['.git', 'node_modules', 'dist', 'coverage', 'output']);

/**
 * What the child runs: all specs up to the first that fails. Its last line says how they went. A spec that waits while nothing is
 * left that could happen has failed, too: mocha's own timers do not count.
 */
const programOf = (specs: readonly string[]): string => `
import Mocha from 'mocha';
const { resetTimeout } = Mocha.Runnable.prototype;
Mocha.Runnable.prototype.resetTimeout = function () {
  resetTimeout.call(this);
  this.timer?.unref();
};
const mocha = new Mocha({ bail: true, timeout: ${HANGS_MS}, reporter: class {} });
mocha.suite.emit('pre-require', globalThis, '', mocha);
${specs.map((spec) => `await import(${JSON.stringify(`./${spec}`)});`).join('\n')}
let [passes, failed] = [0, undefined];
const tell = () =>
  process.stdout.write('\\n' + JSON.stringify({ passes, failed }) + '\\n', () => process.exit(0));
const runner = mocha.run(tell);
process.once('beforeExit', () => {
  failed ??= runner.currentRunnable?.fullTitle() + ': it waits for ever';
  tell();
});
runner.on('pass', () => passes++);
runner.on('fail', (test) => (failed ??= test.fullTitle()));
`;

/** Runs them up to the first that fails. @throws if a patch does not belong in exactly one place */
export async function runSpecs({ name, patches, specs }: Terms): Promise<SpecRun> {
  if (specs.some((spec) => NOT_BUNDLED.has(spec))) return runInCopy(patches, specs);
  const program = await bundle({ name: `specs of ${name}`, patches, program: programOf(specs) });
  const run = await ask([program], ROOT);
  rmSync(program, { force: true });
  return run;
}

/** The same in a copy of the tree, with the files changed there. */
async function runInCopy(patches: readonly Patch[], specs: readonly string[]): Promise<SpecRun> {
  const copy = mkdtempSync(join(tmpdir(), 'quorate-mistake-'));
  try {
    cpSync(ROOT, copy, { recursive: true, filter: (path) => !LEFT_OUT.has(basename(path)) });
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    for (const [path, text] of sources().patched(patches)) writeFileSync(join(copy, path), text);
    const program = join(copy, 'specs.mjs');
    writeFileSync(program, programOf(specs));
    return await ask(['--import', 'tsx', program], copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function ask(args: readonly string[], cwd: string): Promise<SpecRun> {
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  let wailed = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (wailed += chunk.toString()));
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  return new Promise((resolve) => {
    child.on('close', (_code, signal) => {
      clearTimeout(timer);
      const line = said.split('\n').findLast((one) => one.startsWith('{"passes"'));
      const none = { passes: 0, failed: undefined };
      if (line !== undefined)
        resolve({ ...none, ...(JSON.parse(line) as object), crash: undefined }); // our own words
      else resolve({ ...none, crash: signal === null ? wailed.trim() : 'they do not end' });
    });
  });
}
