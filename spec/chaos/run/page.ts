/**
 * The report page: one file that needs no network. Its timeline is drawn by code of its own (15 kB), while Apache ECharts
 * draws the bench's charts. A build of ECharts with only its custom series, axes, zoom and canvas would add 579 kB to
 * each page; the page of a run of 28 s is 27 kB. ECharts has no timeline either, so each bar would still be a shape that
 * is given to it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { colourStyle, MARKS } from './colours.js';
import type { FaultKind } from './history.js';
import { believedEnd, byKey, type LeaseSpan, type RunModel, type Span, type Violation } from './model.js';
import { inMs, isGood, type Latency, type Summary } from './summary.js';
import { isOfMaster, Weather } from './weather.js';

/** In a longer run, single leases are too narrow to see all at once. */
const FIRST_WINDOW_MS = 60_000;
const MOST_VIOLATIONS = 100;

/** By number, to keep an hour's page small. */
const OUTCOMES = ['ended with its validity', 'released', 'handed over', 'lost'] as const;
const OUTCOME_NUMBERS = { open: 0, released: 1, gave: 1, lost: 3 } as const;

export function writePage(file: string, run: RunModel, summary: Summary): void {
  writeFileSync(file, page(run, summary));
}

export function page(run: RunModel, summary: Summary): string {
  const { facts } = run;
  const data = JSON.stringify(timelineData(run)).replaceAll('<', '\\u003c');
  const versions = Object.entries(facts.versions).map(([name, version]) => `${name} ${version}`);
  const guard = facts.guardMs > 0 ? `restart guard ${facts.guardMs} ms` : 'no restart guard';
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>quorate: chaos, seed ${facts.seed}</title>
<style>${asset('style.css')}
${colourStyle(facts.clients)}</style>
<main>
<h1 class="${isGood(summary) ? 'good' : 'bad'}">${headline(summary)}</h1>
<p>${facts.clients} client processes contend for ${facts.keys.length} locks over ${facts.masters} Redis masters (${escape(facts.backend)}, ${guard}),
while masters and clients are struck.${escape(facts.without.map((one) => ` Without ${one}.`).join(''))} Seed ${facts.seed} · ${escape(versions.join(' · '))} · ${escape(facts.startedAt)}<br><code>${escape(facts.command)}</code></p>
${violations(summary)}
${tiles(run, summary)}
<div class="card">
<div class="bar"><h2>Timeline</h2><button data-do="in">+</button><button data-do="out">−</button><button data-do="all">whole run</button>
<span>zoom: wheel or two fingers · move: drag, or shift+wheel · strip: go there</span></div>
<canvas id="map" role="img" aria-label="Grants over the whole run"></canvas>
<canvas id="lines" tabindex="0" role="img" aria-label="Who held which key, and what was struck; arrow keys move, + and − zoom"></canvas>
${legend(run)}
</div>
<div class="tables">
${latencyTable('Grants in one attempt (tryAcquire), ms', summary.attempts)}
${latencyTable('All grants, the wait for other holders included, ms', summary.waits)}
${latencyTable('From a release to a waiter, by their versions, ms', summary.turns)}
${countTable('Grants', summary.grants)}
${countTable('Grants by version', summary.versions)}
${countTable('Refusals and failures by code', summary.refusals)}
${countTable('Lost leases, by what allows it', summary.verdict.allowed)}
${countTable('Faults', summary.faults)}
${countTable('What the checker looked at', summary.verdict.judged)}
</div>
</main>
<div id="tip"></div>
<script type="application/json" id="data">${data}</script>
<script type="module">${script('timeline.mjs')}</script>
</html>
`;
}

function headline(summary: Summary): string {
  const { violations } = summary.verdict;
  if (violations.length > 0)
    return `${violations.length} violation${violations.length === 1 ? '' : 's'} in ${length(summary.seconds)}`;
  const grants = sum(summary.grants).toLocaleString('en-US');
  return `${grants} leases in ${length(summary.seconds)} through ${sum(summary.faults)} faults: no violation`;
}

function violations({ verdict }: Summary): string {
  if (verdict.violations.length === 0) return '';
  const items = verdict.violations.slice(0, MOST_VIOLATIONS).map(({ kind, text, places }) => {
    return `<li><b>${escape(kind)}</b>: ${escape(text)}<br><code>${escape(places.join('  '))}</code></li>`;
  });
  return `<div class="card violations"><h2>Violations, and the lines that prove them</h2><ul>${items.join('')}</ul></div>`;
}

/** Grants and overlaps are always shown, the others if there were any. */
function tiles(run: RunModel, { grants, refusals, ends, takeovers, faults, verdict }: Summary): string {
  const isOverlap = ({ kind }: Violation): boolean => kind === 'overlap' || kind === 'two leaders';
  const overlaps = verdict.violations.filter(isOverlap).length;
  const lapsed = (ends['lost'] ?? 0) + (ends['open'] ?? 0);
  const tile = (count: number, what: string): string =>
    `<div class="tile"><b>${count.toLocaleString('en-US')}</b><span>${what}</span></div>`;
  const others: [number, string][] = [
    [refusals['LOCK_TAKEN'] ?? 0, 'honest refusals (LOCK_TAKEN)'],
    [lapsed, 'leases lost, or of a crashed holder'],
    [takeovers.count, `taken over, ${inMs(takeovers.p50Ms)} ms after the end (median)`],
    [sum(faults), `faults, ${run.spans.filter(isOfMaster).length} of masters`],
    [verdict.judged.heals, 'answers after a heal, in time'],
    [verdict.judged.ticks, 'runs of the job'],
  ];
  return `<div class="tiles">${[
    tile(sum(grants), 'leases granted'),
    tile(overlaps, 'overlaps of valid leases'),
    ...others.filter(([count]) => count > 0).map(([count, what]) => tile(count, what)),
  ].join('')}</div>`;
}

/** Only what occurred in this run has an entry. */
function legend(run: RunModel): string {
  const { facts, spans } = run;
  const item = (style: string, words: string): string => `<li><i style="${style}"></i>${words}</li>`;
  const clients = Array.from({ length: facts.clients }, (_, i) =>
    item(`background:var(--client-${i})`, `c${i + 1}`),
  );
  const names = new Map(spans.map(({ kind }) => [MARKS[kind], KIND_NAMES[kind] ?? kind]));
  const kinds = [...names].map(([mark, name]) => item(`background:var(--${mark})`, name));
  const troubles = new Weather(run).troubles();
  return `<ul class="legend">${clients.join('')}</ul><ul class="legend">${kinds.join('')}
${item('background:var(--quiet);opacity:.4', 'paler: up again, not voting yet (guard)')}
${item('background:var(--kill);width:3px', 'red end: lost, or its holder was killed')}
${troubles.some(({ isWorst }) => !isWorst) ? item('background:var(--fault)', 'a minority faulty') : ''}
${troubles.some(({ isWorst }) => isWorst) ? item('background:var(--worst)', 'a majority faulty') : ''}
<li>dots: time to a grant, 1 ms to 4 s, logarithmic</li></ul>`;
}

const KIND_NAMES: Partial<Record<FaultKind, string>> = {
  kill: 'killed −9',
  crash: 'killed −9',
  'cut-to-master': 'cut one way, half-open',
  'cut-to-client': 'cut one way, half-open',
  'half-open': 'cut one way, half-open',
  pause: 'paused, starved',
  starve: 'paused, starved',
  full: 'memory full',
  'clock-back': 'clock set back, or slewed',
  'clock-slew': 'clock set back, or slewed',
};

function latencyTable(title: string, list: readonly Latency[]): string {
  const rows = list
    .filter(({ count }) => count > 0)
    .map(({ what, count, p50Ms, p99Ms, maxMs }) => {
      return `<tr><td>${escape(what)}<td>${count.toLocaleString('en-US')}<td>${inMs(p50Ms)}<td>${inMs(p99Ms)}<td>${inMs(maxMs)}`;
    });
  return card(title, rows, '<tr><th><th>count<th>p50<th>p99<th>longest');
}

function countTable(title: string, counts: Readonly<Record<string, number>>): string {
  const rows = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `<tr><td>${escape(name)}<td>${count.toLocaleString('en-US')}`);
  return card(title, rows);
}

/** Empty if there is nothing to count. */
function card(title: string, rows: readonly string[], head = ''): string {
  if (rows.length === 0) return '';
  return `<div class="card"><h2>${title}</h2><table>${head}${rows.join('')}</table></div>`;
}

/** Lists of numbers, sorted by the first one: [from, to, …], in ms since the run began. */
function timelineData(run: RunModel): object {
  const { facts, startT, endT, leases } = run;
  const clients = Array.from({ length: facts.clients }, (_, i) => `c${i + 1}`);
  const masters = [...Array.from({ length: facts.masters }, (_, i) => `m${i + 1}`), ...facts.others];
  const clientOf = ({ process }: LeaseSpan): number => clients.indexOf(process.replace(/\.\d+$/, ''));
  const at = (t: number): number => Math.round((Math.min(t, endT) - startT) * 10) / 10;
  const spansOf = (target: string): (number | string)[][] =>
    byFirst(run.spans.filter((span) => span.target === target).map((span) => spanRow(span, at)));
  const masterSpans = masters.map(spansOf);
  const clientSpans = clients.map(spansOf);
  const troubles = new Weather(run)
    .troubles()
    .map(({ fromT, toT, isWorst }) => [at(fromT), at(toT), isWorst ? 1 : 0]);
  const leasesByKey = byKey(leases);
  const leaseRows = facts.keys.map((key) => {
    const own = leasesByKey.get(key) ?? [];
    const tracks = tracksOf(own);
    return own.map((lease, i) => [
      at(lease.t),
      at(Math.max(lease.t, believedEnd(lease))),
      clientOf(lease),
      OUTCOME_NUMBERS[lease.outcome],
      tracks[i] ?? 0,
    ]);
  });
  const fresh = leases.filter(({ from }) => from === undefined);
  return {
    lengthMs: at(endT),
    firstWindowMs: FIRST_WINDOW_MS,
    keys: facts.keys,
    masters,
    clients,
    marks: MARKS,
    outcomes: OUTCOMES,
    leases: leaseRows,
    tracks: leaseRows.map((rows) => 1 + rows.reduce((most, row) => Math.max(most, row[4] ?? 0), 0)),
    longestLeaseMs: longest(leaseRows.flat()),
    grants: byFirst(leases.map(({ t }) => [at(t)])),
    latencies: byFirst(
      fresh.map((lease) => [at(lease.t), Math.round((lease.t - lease.call.t) * 10) / 10, clientOf(lease)]),
    ),
    masterSpans,
    clientSpans,
    longestSpanMs: longest([...masterSpans, ...clientSpans].flat()),
    troubles,
    longestTroubleMs: longest(troubles),
  };
}

/** For each lease, in the order of their grants, the first track of its lane that is free: leases of a shared lock lie beside each other. */
function tracksOf(leases: readonly LeaseSpan[]): number[] {
  const ends: number[] = [];
  return leases.map((lease) => {
    const free = ends.findIndex((end) => end <= lease.t);
    const track = free === -1 ? ends.length : free;
    ends[track] = believedEnd(lease);
    return track;
  });
}

function spanRow(
  { strikeT, mendT, mendedT, kind, how, byMs }: Span,
  at: (t: number) => number,
): (number | string)[] {
  const more = how === undefined ? '' : `data ${how}`;
  return [at(strikeT), at(mendT), kind, at(mendedT), byMs === undefined ? more : `by ${byMs} ms`];
}

function byFirst<Row extends readonly (number | string)[]>(rows: Row[]): Row[] {
  return rows.sort((a, b) => Number(a[0]) - Number(b[0]));
}

function longest(rows: readonly (readonly (number | string)[])[]): number {
  return rows.reduce(
    (most, row) => Math.max(most, Number(row[1]) - Number(row[0]), Number(row[3] ?? 0) - Number(row[0])),
    0,
  );
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((all, count) => all + count, 0);
}

function length(seconds: number): string {
  return seconds < 120 ? `${Math.round(seconds)} s` : `${(seconds / 60).toFixed(1)} minutes`;
}

/** With its imports, in one piece. */
function script(name: string): string {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL(`page/${name}`, import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    legalComments: 'none',
  });
  return (outputFiles[0]?.text ?? '').replaceAll('</script', '<\\/script');
}

function asset(name: string): string {
  return readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8');
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
