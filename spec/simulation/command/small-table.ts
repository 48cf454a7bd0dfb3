/** The table of docs/SIMULATION.md: the known mistakes that small worlds find, and how long seeds take for the same. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { VARIANTS } from '../variants/variants.js';
import { huntBySeeds } from './proof.js';
import { huntInSmallWorlds, inSmallWorlds, type SmallHunt } from './small-variants.js';

const DOCUMENT = fileURLToPath(new URL('../../../docs/SIMULATION.md', import.meta.url));
const TABLE = /(<!-- small worlds -->\n)[^]*?(\n<!-- -->)/;
const HEAD = ['mistake', 'world', 'schedule', 'schedules until then', 's', 'seeds until then', 's'];

/** Hunts all of them, both ways, and writes the table. @returns what went wrong, in words */
export async function writeSmallTable(say: (line: string) => void): Promise<string[]> {
  const { failures, hunts } = await huntInSmallWorlds('', say);
  const rows: string[][] = [];
  for (const one of hunts) {
    rows.push([
      ...rowStart(one),
      String(one.schedules),
      one.seconds.toFixed(1),
      ...(await bySeeds(one.name)),
    ]);
    say(rows.at(-1)?.join(' · ') ?? '');
  }
  const text = readFileSync(DOCUMENT, 'utf8');
  if (!TABLE.test(text)) return [...failures, `${DOCUMENT} has no place for the table`];
  writeFileSync(
    DOCUMENT,
    text.replace(TABLE, (_, before: string, after: string) => `${before}\n${tableOf(rows)}\n${after}`),
  );
  return [...failures];
}

async function bySeeds(name: string): Promise<string[]> {
  const variant = VARIANTS.find((one) => one.name === name);
  if (variant === undefined) throw new Error('it is in the list');
  const begun = performance.now();
  const { seed, seedsRun } = await huntBySeeds(variant);
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  return seed === undefined ? [`none of ${seedsRun}`, seconds] : [String(seedsRun), seconds];
}

function rowStart({ name, schedule, world }: Pick<SmallHunt, 'name' | 'schedule' | 'world'>): string[] {
  return [name, `\`${world}\``, `\`${schedule}\``];
}

function tableOf(rows: readonly (readonly string[])[]): string {
  const all = [HEAD, HEAD.map(() => '---'), ...rows];
  return all.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** What the table does not say of the mistakes that small worlds find. */
export function missingInTable(): readonly string[] {
  const [table = ''] = TABLE.exec(readFileSync(DOCUMENT, 'utf8')) ?? [];
  const lines = table.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));
  return inSmallWorlds('')
    .map(({ name, small }) => rowStart({ name, ...small }))
    .filter((start) => !lines.some((cells) => start.every((cell, i) => cells[i + 1] === cell)))
    .map(([name = '']) => name);
}
