/** What can be had on this machine: the plan leaves the rest out, and the report says so. */
import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { createRequire } from 'node:module';
import { whyNoClocks } from '../kit/clock.js';
import type { ChaosOptions } from './options.js';

export interface Abilities {
  /** The clocks of masters can be changed. */
  readonly hasClocks: boolean;
  /** The URL of redlock 5; undefined where it is not installed. */
  readonly redlock5: string | undefined;
  /** What is left out, each with its reason. */
  readonly without: readonly string[];
}

export async function abilitiesOf({ backend, nodes }: ChaosOptions): Promise<Abilities> {
  const noClocks = await whyNot(backend, nodes.length > 0);
  const redlock5 = findRedlock5();
  const without = [
    ...(noClocks === undefined ? [] : [`changed clocks: ${noClocks}`]),
    ...(redlock5 === undefined ? ['redlock 5 beside it: npm ci --prefix bench brings it'] : []),
    ...(nodes.length > 0 ? ['faults of masters: they are not ours'] : []),
  ];
  return { hasClocks: noClocks === undefined, redlock5, without };
}

async function whyNot(backend: ChaosOptions['backend'], isOverNodes: boolean): Promise<string | undefined> {
  if (isOverNodes) return 'the masters are not ours';
  return backend === 'container' ? 'a container has the clock of its machine' : await whyNoClocks();
}

function findRedlock5(): string | undefined {
  const bench = fileURLToPath(new URL('../../../bench/package.json', import.meta.url));
  try {
    const file = createRequire(bench).resolve('redlock5');
    return existsSync(file) ? pathToFileURL(file).href : undefined;
  } catch {
    return undefined;
  }
}
