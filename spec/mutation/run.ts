/** Tries mutants, one after another, each on the specs that come by it, until one of them fails. */
import { dirname } from 'node:path';
import { bundle, type MutatedFiles } from './bundle.js';
import type { SpecTime } from './messages.js';
import type { Mutant } from './mutant.js';
import { isJudgedBy, SIMULATION_SPECS } from './targets.js';
import { WorkerProcess } from './worker-process.js';

export type Fate = 'killed' | 'timed out' | 'survived' | 'not covered';

export interface Verdict {
  readonly mutant: Mutant;
  readonly fate: Fate;
  /** The spec that failed. */
  readonly by: string | undefined;
  readonly tookMs: number;
}

export interface Terms {
  readonly files: MutatedFiles;
  readonly specs: readonly string[];
  /** How long one spec may take, in ms; 0: for ever, if something is left that can happen. */
  readonly specMs: number;
}

/** A mutant is tried on that many specs of the folder that mirrors its own, and in all. */
const MOST_OWN_SPECS = 80;
const MOST_SPECS = 120;

/** One bundle with its mutants and specs, and the process that runs them. */
export class Run implements AsyncDisposable {
  readonly #files: MutatedFiles;
  readonly #worker: WorkerProcess;
  readonly #choice: Choice;

  private constructor(files: MutatedFiles, worker: WorkerProcess, specs: readonly SpecTime[]) {
    this.#files = files;
    this.#worker = worker;
    this.#choice = new Choice(specs);
  }

  /** Measures all specs once. @throws if one fails without any mutant */
  static async start(name: string, { files, specs, specMs }: Terms): Promise<Run> {
    const worker = new WorkerProcess(await bundle(name, specs, files), specMs);
    try {
      const order = { kind: 'measure', files: specs, mutants: files.mutants.length } as const;
      const measured = await worker.order(order);
      if (measured === 'stuck' || measured.kind !== 'measured')
        throw new Error('specs hang without any mutant');
      const [failure] = measured.failures;
      if (failure !== undefined) throw new Error(`a spec fails without any mutant: ${failure}`);
      return new Run(files, worker, measured.specs);
    } catch (error) {
      await worker.stop();
      throw error;
    }
  }

  /** Tries all mutants of a file. */
  async *verdicts(file: string): AsyncGenerator<Verdict> {
    for (const [i, mutant] of this.#files.mutants.entries())
      if (mutant.file === file) yield await this.#try(i + 1, mutant);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.stop();
  }

  async #try(id: number, mutant: Mutant): Promise<Verdict> {
    const startedAtMs = performance.now();
    const verdict = (fate: Fate, by?: string): Verdict => ({
      mutant,
      fate,
      by,
      tookMs: performance.now() - startedAtMs,
    });
    const specs = this.#choice.for(id, mutant.file);
    if (specs.length === 0) return verdict('not covered');
    const files = this.#choice.order(specs, mutant.file);
    const tried = await this.#worker.order({
      kind: 'try',
      id,
      files,
      specs: specs.map(({ name, questions }) => [name, questions]),
    });
    if (tried === 'stuck' || tried.kind !== 'tried') return verdict('timed out');
    if (tried.by === undefined) return verdict('survived');
    this.#choice.killed(mutant.file, tried.file);
    return verdict('killed', tried.by);
  }
}

/** So many of them, from all over the list. */
function spread<T>(list: readonly T[], most: number): T[] {
  const step = Math.max(1, list.length / most);
  return list.filter((_, i) => Math.floor(i / step) !== Math.floor((i - 1) / step));
}

/** Which specs a mutant is tried on, and in which order: first those that soon notice mutants of its file. */
class Choice {
  readonly #specs: readonly SpecTime[];
  readonly #kills = new Map<string, number>();

  constructor(specs: readonly SpecTime[]) {
    this.#specs = specs;
  }

  /** Some of those that come by it; where none does as it runs, of those whose files do as they are loaded. */
  for(id: number, file: string): readonly SpecTime[] {
    const judges = this.#specs.filter(
      (spec) => spec.file.startsWith('spec/protocol/lua/') || isJudgedBy(file, spec.file),
    );
    const near = judges.filter(({ hits }) => hits.includes(id));
    const all = near.length > 0 ? near : judges.filter(({ atLoad }) => atLoad?.includes(id) === true);
    const folder = dirname(file).replace(/^lib/, 'spec');
    const own = spread(
      all.filter((spec) => dirname(spec.file) === folder),
      MOST_OWN_SPECS,
    );
    const simulated = all.filter((spec) => spec.file === SIMULATION_SPECS);
    const rest = all.filter((spec) => dirname(spec.file) !== folder && spec.file !== SIMULATION_SPECS);
    return [...own, ...spread(rest, MOST_SPECS - own.length), ...simulated];
  }

  order(specs: readonly SpecTime[], file: string): string[] {
    const costs = new Map<string, number>();
    for (const spec of specs) costs.set(spec.file, (costs.get(spec.file) ?? 1) + spec.ms);
    const worth = (one: string): number =>
      (1 + (this.#kills.get(`${file} ${one}`) ?? 0)) / (costs.get(one) ?? 1);
    return [...costs.keys()].toSorted((one, other) => worth(other) - worth(one));
  }

  killed(file: string, by: string | undefined): void {
    const key = `${file} ${by ?? ''}`;
    this.#kills.set(key, (this.#kills.get(key) ?? 0) + 1);
  }
}
