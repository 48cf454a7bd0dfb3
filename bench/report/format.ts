/** Numbers as the report writes them. */
import { type ContenderName, entryOf } from '../contenders/index.js';
import type { Results } from '../results.js';
import type { Latency, Spread } from '../statistics.js';

/** Stands where there is no figure. */
export const NONE = '–';

export function whole(value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? NONE : Math.round(value).toLocaleString('en-US');
}

/** Three digits that count, as far as they stand before or close behind the point. */
export function short(value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return NONE;
  const size = Math.abs(value);
  return size >= 100 ? whole(value) : value.toFixed(size >= 10 ? 1 : 2);
}

export function withRange(spread: Spread | undefined, write = two): string {
  if (spread === undefined) return NONE;
  return `${write(spread.median)} (${write(spread.min)}–${write(spread.max)})`;
}

export function two(value: number): string {
  return Number.isFinite(value) ? value.toFixed(2) : NONE;
}

/** What is added to a row of which some steps failed. */
export function failuresOf(failures: number, failure: string | undefined): string {
  return `${failures} failed${failure === undefined ? '' : `: ${brief(failure)}`}`;
}

/** In µs: p50 / p95 / p99. */
export function latency({ p50Us, p95Us, p99Us }: Latency): string {
  return [p50Us, p95Us, p99Us].map(whole).join(' / ');
}

export function labelOf(name: ContenderName): string {
  return entryOf(name).label;
}

/** The report is written as for ioredis, on which all contenders are. A floor is plain code on the client of its run. */
export function onClient(text: string, { client }: Pick<Results, 'client'>): string {
  const name = client === 'redis' ? 'node-redis' : client === '@valkey/valkey-glide' ? 'GLIDE' : undefined;
  return name === undefined ? text : text.replaceAll(/ioredis/gi, name);
}

/** Long enough to tell what went wrong; the whole text is in the JSON. The name `Error` tells nothing. */
export function brief(trouble: string): string {
  const [line = ''] = trouble.replace(/^Error: /, '').split('\n');
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
