/** Tries a mistake by what is to notice it, and the right code by the same. */
import { rmSync } from 'node:fs';
import { compile, dismiss, hunt, type Hunt, huntSmall } from '../simulation/hunt.js';
import type { InWorld, Mistake, Seeds } from './mistake.js';
import { runSpecs } from './spec-runs.js';

/** What came of one way of noticing it. */
export interface Trial {
  /** By what it was noticed; undefined if it was not. */
  readonly by: string | undefined;
  /** What is wrong, if anything is. */
  readonly fault: string | undefined;
  readonly history?: string | undefined;
}

/** What a run of the command shares. */
export interface Terms {
  /** The right code, bundled. */
  readonly right: string;
  readonly showsHistory: boolean;
  readonly withSpecs: boolean;
  readonly withSeeds: boolean;
  /** Where one schedule of a small world shows it, no seeds are tried, and the right code is not tried by the same. */
  readonly isBrief: boolean;
}

/** A seed must show it within this. */
const LIMIT = { seeds: 6_000, limitMs: 120_000 };
/** A schedule takes a second of a core: what has taken more than this hangs. */
const SCHEDULE_MS = 120_000;

/** @throws if a patch does not belong in exactly one place */
export async function trialsOf(mistake: Mistake, terms: Terms): Promise<Trial[]> {
  const { name, noticedBy, patches } = mistake;
  const { seeds, specs, world } = noticedBy;
  const trials: Trial[] = [];
  if (terms.withSeeds && (seeds !== undefined || world !== undefined)) {
    const wrong = await compile(name, patches);
    if (world !== undefined) trials.push(await inWorld(world, { ...terms, wrong, mistake }));
    if (seeds !== undefined && (world === undefined || !terms.isBrief))
      trials.push(await bySeeds(seeds, { ...terms, wrong, mistake }));
    dismiss(wrong);
    rmSync(wrong, { force: true });
  }
  if (terms.withSpecs && specs !== undefined) trials.push(await bySpecs(mistake, specs));
  return trials;
}

interface Simulating extends Terms {
  readonly mistake: Mistake;
  /** The code with the mistake, bundled. */
  readonly wrong: string;
}

/** Seeds one after another, until one breaks a promise; then the right code with the same ones. */
async function bySeeds(
  seeds: Seeds,
  { isBrief, mistake, right, showsHistory, wrong }: Simulating,
): Promise<Trial> {
  const { from: firstSeed = 1, of } = seeds;
  const { breaks = [] } = mistake.noticedBy;
  const task: Hunt = { firstSeed, ...LIMIT, of, options: optionsOf(seeds) };
  const { crash, history, seed, seedsRun, violation } = await hunt(wrong, { ...task, breaks, showsHistory });
  if (seed === undefined)
    return { by: undefined, fault: crash ?? `not noticed by ${seedsRun} seeds from ${firstSeed} on` };
  const control = isBrief ? undefined : await hunt(right, { ...task, seeds: seedsRun });
  const fault = control?.violation?.text ?? control?.crash;
  return {
    by: `seed ${seed} (${seedsRun}): ${violation?.property}`,
    fault: fault && `the right code fails by the same seeds: ${fault}`,
    history,
  };
}

/** A mistake shows sooner if less else happens. */
function optionsOf({ options }: Seeds): Hunt['options'] {
  return {
    sharedLocks: false,
    local: false,
    unawaited: false,
    keeping: false,
    latePushes: false,
    fullServers: false,
    failOvers: false,
    wrongServers: false,
    ...options,
  };
}

async function inWorld(world: InWorld, { isBrief, mistake, right, wrong }: Simulating): Promise<Trial> {
  const { breaks = [] } = mistake.noticedBy;
  const task = { ...world, k: 0, faults: 0 };
  const { crash, schedule, violation } = await huntSmall(wrong, { ...task, breaks }, SCHEDULE_MS);
  const told = `${world.world} ${world.schedule}`;
  if (schedule === undefined) return { by: undefined, fault: crash ?? `not noticed by ${told}` };
  const control = isBrief ? undefined : await huntSmall(right, task, SCHEDULE_MS);
  const fault = control?.violation?.text ?? control?.crash;
  return {
    by: `${told}: ${violation?.property}`,
    fault: fault && `the right code fails by the same schedule: ${fault}`,
  };
}

/** The right code passes them: `main.ts` sees to it for all at once. */
async function bySpecs({ name, patches }: Mistake, specs: readonly string[]): Promise<Trial> {
  const { crash, failed, passes } = await runSpecs({ name, patches, specs });
  if (failed !== undefined) return { by: failed, fault: undefined };
  return { by: undefined, fault: crash ?? `not noticed by ${passes} specs of ${specs.join(', ')}` };
}
