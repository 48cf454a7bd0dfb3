/** How numbers and times are shown. Pure. */

const NUMBER = new Intl.NumberFormat('en');

export function count(number: number): string {
  return NUMBER.format(number);
}

const FEW = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 });

/** How many in a second, where there may be less than one. */
export function rate(number: number): string {
  return number < 10 ? FEW.format(number) : count(Math.round(number));
}

/** One thing, or several. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** A time in its two largest units; `0 s` for one that is over. */
export function duration(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1_000));
  if (s < 60) return `${s} s`;
  if (s < 3_600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86_400) return `${Math.floor(s / 3_600)} h ${Math.floor((s % 3_600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3_600)} h`;
}

/** A short time, as latencies and runs have. */
export function shortTime(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${Number((ms / 1_000).toFixed(1))} s` : duration(ms);
}

export function signed(ms: number): string {
  const text =
    Math.abs(ms) < 1_000 ? `${Math.abs(ms).toFixed(1)} ms` : `${(Math.abs(ms) / 1_000).toFixed(1)} s`;
  if (Math.abs(ms) < 0.05) return text;
  return ms < 0 ? `−${text}` : `+${text}`;
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

export function bytes(number: number): string {
  const power = number < 1_000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(number) / 3));
  const scaled = number / 1_000 ** power;
  return `${scaled.toFixed(power === 0 || scaled >= 100 ? 0 : 1)} ${UNITS[power]}`;
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

/** The time of day, with the day if it is another than that of `nowMs`. */
export function clock(ms: number, nowMs: number): string {
  const isToday = new Date(ms).toDateString() === new Date(nowMs).toDateString();
  return isToday ? CLOCK.format(ms) : `${DAY.format(ms)}, ${CLOCK.format(ms)}`;
}

/** For machines, and in a tooltip. */
export function iso(ms: number): string {
  return new Date(ms).toISOString();
}
