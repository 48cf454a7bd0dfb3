/** What a load that lasts has come to, as a text in Markdown. */
import type { Sample } from './terms.js';
import { heapPerCall, type Level } from './verdict.js';

const MB = 2 ** 20;

export interface LastingResults {
  readonly command: string;
  readonly surroundings: Readonly<Record<string, string>>;
  readonly tookMs: number;
  readonly samples: readonly Sample[];
  /** None where the run was too short to judge. */
  readonly levels: readonly Level[];
  /** What was wrong, besides what grew. */
  readonly troubles: readonly string[];
}

export function isGood({ levels, troubles }: Pick<LastingResults, 'levels' | 'troubles'>): boolean {
  return troubles.length === 0 && levels.every(({ isLevel }) => isLevel);
}

export const HEAD = line([
  'round',
  'calls',
  'heap, MB',
  'resident, MB',
  'handles',
  'sockets',
  'listeners',
  'connections',
  'keys',
  'locks left',
  "masters' MB",
  'CPU, s',
]);

export function rowOf(sample: Sample): string {
  return line([
    count(sample.round),
    count(sample.calls),
    megabytes(sample.heapBytes),
    megabytes(sample.residentBytes),
    count(sample.handles),
    count(sample.sockets),
    count(sample.listeners),
    count(sample.connections),
    count(sample.keys),
    count(sample.left),
    megabytes(sample.bytes),
    (sample.cpuMs / 1_000).toFixed(1),
  ]);
}

export function toMarkdown(results: LastingResults): string {
  const { command, surroundings, tookMs, samples, levels, troubles } = results;
  const last = samples.at(-1);
  const codes = Object.entries(last?.codes ?? {}).map(([code, times]) => `${code} ${count(times)}`);
  const rows = levels.map(({ what, key, second, last: after, limit, isLevel }) => {
    const show = key === 'heapBytes' || key === 'bytes' ? megabytes : count;
    return line([what, show(second), show(after), show(limit), isLevel ? 'yes' : '**no**']);
  });
  const isJudged = levels.length > 0;
  return [
    `\`${command}\`: ${Math.round(tookMs / 1_000)} s; ${Object.entries(surroundings)
      .map(([name, value]) => `${name} ${value}`)
      .join(', ')}`,
    [HEAD, rule(HEAD), ...samples.map(rowOf)].join('\n'),
    ...(isJudged ? [[line(LEVEL_HEAD), rule(line(LEVEL_HEAD)), ...rows].join('\n')] : []),
    `Of ${count(last?.calls ?? 0)} calls, these ended without what they asked for: ${codes.join(' · ')}.`,
    ...(isJudged
      ? [`The heap grew by ${heapPerCall(samples).toFixed(1)} bytes for each call of the last third.`]
      : []),
    verdictOf({ levels, troubles }),
  ].join('\n\n');
}

const LEVEL_HEAD = ['', 'second third', 'last third', 'at most', 'level'];

function verdictOf({ levels, troubles }: Pick<LastingResults, 'levels' | 'troubles'>): string {
  if (isGood({ levels, troubles }))
    return levels.length > 0 ? 'Everything is level.' : 'It runs; it was too short to be judged.';
  const grown = levels
    .filter(({ isLevel }) => !isLevel)
    .map(({ what, second, last }) => `${what}: from ${count(second)} to ${count(last)}`);
  return ['NOT GOOD:', ...[...grown, ...troubles].map((one) => `- ${one}`)].join('\n');
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

/** Numbers stand at the right. */
function rule(head: string): string {
  return head.replace(/[^|]+/g, ' ---: ').replace(' ---: ', ' --- ');
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function megabytes(bytes: number): string {
  return (bytes / MB).toFixed(2);
}
