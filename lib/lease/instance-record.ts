/**
 * The record of an instance, by which others name the holder of a lock: host, process, label, and when its oldest leases were
 * granted, whose counters may be gone; calls that have waited for long while they held something; and what it has done so far.
 * One JSON text per instance and master. Other programs may write there, too: an odd value is left out, and a text that is shown
 * has passed the checks of an option.
 */
import { isCount } from '../input/given.js';
import { isLabel } from '../input/texts.js';
import { readWaits, shownWaits, type Waiting } from './deadlock/waiting.js';
import type { InstanceInfo } from '../runtime/instance-info.js';
import { WAIT_LENGTHS } from '../telemetry/wait-times.js';

/** A record as it was read. */
export interface InstanceRecord {
  readonly info: InstanceInfo;
  /** The oldest leases that it holds, by the fingerprints of their tokens. */
  readonly held: ReadonlyMap<string, GrantedAt>;
  /** How often it had been written: whoever reads a higher one later knows that the instance was alive in between. */
  readonly beat: number;
  /** Its calls that wait while they hold something. */
  readonly waits: readonly Waiting[];
  readonly counts: SharedCounts | undefined;
}

/** What changes while an instance is in use. */
interface RecordState {
  /** The oldest first. */
  readonly held: readonly (GrantedAt & { readonly holder: string })[];
  readonly beat: number;
  /** The oldest first. */
  readonly waits: readonly Waiting[];
  readonly counts: SharedCounts;
}

/** What an instance has done since it was made. No number ever falls. */
export interface SharedCounts {
  /** How old it was when it wrote this, by its own clock. */
  readonly ageMs: number;
  readonly acquired: number;
  readonly lost: number;
  /** How long its calls took to get their leases, as `telemetry/wait-times.ts` counts them. */
  readonly waits: readonly number[];
}

/** When a lease was granted: its fencing token, or, without one, the masters' time in ms since 1970. */
export interface GrantedAt {
  readonly fence?: number | undefined;
  readonly sinceMs?: number | undefined;
}

/** The most leases in a record. */
export const MOST_LEASES = 32;
/** The most characters of a record that are read. */
const MOST_LENGTH = 4_096;
/** `,"waits":[]`. */
const NAME_OF_WAITS = 11;

const FINGERPRINT = /^[\da-f]{10}$/;

/** Leaves out waits that would make it too long to be read. */
export function recordText(
  { host, label, pid, startedAt, version }: InstanceInfo,
  { beat, counts, held, waits }: RecordState,
): string {
  const shown = held.slice(0, MOST_LEASES);
  const fences = Object.fromEntries(shown.map(({ fence, holder }) => [holder, fence]));
  const since = Object.fromEntries(shown.map(({ holder, sinceMs }) => [holder, sinceMs]));
  const facts = { label, host, pid, version, startedAt, held: fences, since, beat, counts };
  const text = JSON.stringify(facts);
  if (waits.length === 0) return text;
  const fitting = shownWaits(waits, MOST_LENGTH - text.length - NAME_OF_WAITS);
  return fitting.length === 0 ? text : JSON.stringify({ ...facts, waits: fitting });
}

/** @returns undefined for what is no record */
export function readRecord(id: string, text: string): InstanceRecord | undefined {
  if (text.length > MOST_LENGTH) return undefined;
  const found = objectIn(text);
  if (found === undefined) return undefined;
  const { host, label, pid, startedAt, version } = found;
  const info = {
    id,
    ...(isLabel(label) ? { label } : {}),
    ...(isLabel(host) ? { host } : {}),
    ...(isCount(pid, 0) ? { pid } : {}),
    ...(isLabel(version) ? { version } : {}),
    ...(isCount(startedAt, 0) ? { startedAt } : {}),
  };
  return {
    info,
    held: new Map<string, GrantedAt>([
      ...numbersIn(found['since']).map(([holder, sinceMs]) => [holder, { sinceMs }] as const),
      ...numbersIn(found['held']).map(([holder, fence]) => [holder, { fence }] as const),
    ]),
    beat: isCount(found['beat'], 0) ? found['beat'] : 0,
    waits: readWaits(id, found['waits']),
    counts: countsIn(found['counts']),
  };
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : undefined; // checked above
  } catch {
    return undefined;
  }
}

/** By holder. */
function numbersIn(given: unknown): readonly (readonly [string, number])[] {
  if (typeof given !== 'object' || given === null) return [];
  return Object.entries(given).flatMap(([holder, count]) =>
    FINGERPRINT.test(holder) && isCount(count, 1) ? [[holder, count] as const] : [],
  );
}

function countsIn(counts: unknown): SharedCounts | undefined {
  if (typeof counts !== 'object' || counts === null) return undefined;
  const { acquired, ageMs, lost, waits } = counts as Readonly<Record<string, unknown>>; // checked here
  if (!isCount(ageMs, 0) || !isCount(acquired, 0) || !isCount(lost, 0)) return undefined;
  if (!Array.isArray(waits) || waits.length > WAIT_LENGTHS) return undefined;
  return waits.every((one): one is number => isCount(one, 0)) ? { ageMs, acquired, lost, waits } : undefined;
}
