/** Tries mutants, one after another, each on the specs that come by it, until one of them fails. */
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import pLimit, { type LimitFunction } from 'p-limit';
import { bundle, type MutatedFiles } from './bundle.js';
import type { SpecTime, Trial } from './messages.js';
import type { Mutant } from './mutant.js';
import { isJudgedBy, isSpecOf, type Target } from './targets.js';
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

/** A spec that goes on for longer than that, and than many times the slowest one without a mutant, does not end. */
const ENDLESS_MS = 10_000;
const ENDLESS_FACTOR = 10;
/** No mutant's number. */
const NONE = 0;
/** How mocha names a hook that failed. */
const IN_HOOK = /"(?:before|after) (?:all|each)" hook/;
/** A mutant is tried on its file's own specs, on that many others of the folder, and on that many others in all. */
const MOST_OWN_SPECS = 80;
const MOST_SPECS = 120;

/** One bundle with its mutants and specs, and the processes that run them: one for each core. */
export class Run implements AsyncDisposable {
  readonly #files: MutatedFiles;
  readonly #free: WorkerProcess[];
  readonly #limit: LimitFunction;
  readonly #choice: Choice;
  readonly #endlessMs: number;

  private constructor(files: MutatedFiles, workers: readonly WorkerProcess[], choice: Choice) {
    this.#files = files;
    this.#free = [...workers];
    this.#limit = pLimit(workers.length);
    this.#choice = choice;
    this.#endlessMs = Math.max(ENDLESS_MS, ENDLESS_FACTOR * choice.slowestMs);
  }

  /** Measures all specs once. @throws if one fails without any mutant */
  static async start(name: string, { files, specs, specMs }: Terms): Promise<Run> {
    const program = await bundle(name, specs, files);
    const worker = new WorkerProcess(program, specMs);
    try {
      const order = { kind: 'measure', files: specs, mutants: files.mutants.length } as const;
      const measured = await worker.order(order);
      if (measured === 'stuck' || measured.kind !== 'measured')
        throw new Error('specs hang without any mutant');
      const [failure] = measured.failures;
      if (failure !== undefined) throw new Error(`a spec fails without any mutant: ${failure}`);
      const others = Array.from(
        { length: availableParallelism() - 1 },
        () => new WorkerProcess(program, specMs),
      );
      return new Run(files, [worker, ...others], new Choice(measured.specs));
    } catch (error) {
      await worker.stop();
      throw error;
    }
  }

  /** Tries all mutants of a file, those of files that were asked for before at first. */
  verdictsOn(target: Target): Promise<readonly Verdict[]> {
    const mutants = [...this.#files.mutants.entries()].filter(([, { file }]) => file === target.file);
    return Promise.all(
      mutants.map(([i, mutant]) =>
        this.#limit(async () => {
          const worker = this.#free.shift();
          if (worker === undefined) throw new Error('there are as many as may work at once');
          const verdict = await this.#try(i + 1, { mutant, target, worker });
          this.#free.push(worker);
          return verdict;
        }),
      ),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#free.map((worker) => worker.stop()));
  }

  /** @throws if these specs fail without any mutant: a server that does not start would notice every mutant */
  async #expectSound(worker: WorkerProcess, trial: Trial): Promise<void> {
    const sound = await worker.order({ ...trial, id: NONE }, this.#endlessMs);
    if (sound === 'stuck' || sound.kind !== 'tried') throw new Error('specs hang without any mutant');
    if (sound.by !== undefined) throw new Error(`a spec fails without any mutant: ${sound.by}`);
  }

  async #try(
    id: number,
    {
      mutant,
      target,
      worker,
    }: { readonly mutant: Mutant; readonly target: Target; readonly worker: WorkerProcess },
  ): Promise<Verdict> {
    const startedAtMs = performance.now();
    const verdict = (fate: Fate, by?: string): Verdict => ({
      mutant,
      fate,
      by,
      tookMs: performance.now() - startedAtMs,
    });
    const specs = this.#choice.for(id, target);
    if (specs.length === 0) return verdict('not covered');
    const files = this.#choice.order(specs, mutant.file);
    const named = specs.map(({ name, questions }) => [name, questions] as const);
    const trial = { kind: 'try', id, files, specs: named } as const;
    let tried = await worker.order(trial, this.#endlessMs);
    if (tried === 'stuck') tried = await worker.order(trial, this.#endlessMs); // on a busy machine, once is no proof
    if (tried === 'stuck' || tried.kind !== 'tried') return verdict('timed out');
    if (tried.by === undefined) return verdict('survived');
    if (IN_HOOK.test(tried.by)) await this.#expectSound(worker, trial);
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

  get slowestMs(): number {
    return this.#specs.reduce((slowest, { ms }) => Math.max(slowest, ms), 0);
  }

  /** Some of those that come by it; where none does as it runs, of those whose files do as they are loaded. */
  for(id: number, target: Target): readonly SpecTime[] {
    const judges = this.#specs.filter((spec) => isJudgedBy(target, spec.file));
    const exact = judges.filter(({ hits }) => hits.includes(id));
    const all = exact.length > 0 ? exact : judges.filter(({ atLoad }) => atLoad?.includes(id) === true);
    const folder = dirname(target.file).replace(/^lib/, 'spec');
    const chosen = (spec: SpecTime): boolean => isSpecOf(target, spec.file);
    const isNear = (spec: SpecTime): boolean => dirname(spec.file) === folder;
    if (target.isLua) return all; // templates are read as lib is loaded: no spec comes by one mutant rather than another
    const others = all.filter((spec) => !chosen(spec));
    const own = spread(others.filter(isNear), MOST_OWN_SPECS);
    return [
      ...all.filter(chosen),
      ...own,
      ...spread(
        others.filter((spec) => !isNear(spec)),
        MOST_SPECS - own.length,
      ),
    ];
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
