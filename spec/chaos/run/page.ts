/** The report page: one file that needs no network. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { FaultKind } from './history.js';
import { believedEnd, type LeaseSpan, type RunModel, type Span } from './model.js';
import { describeTally, inMs, isGood, type Latency, type Summary } from './summary.js';
import { isOfMaster, Weather } from './weather.js';

/** In a longer run single leases cannot be seen all at once. */
const FIRST_WINDOW_MS = 60_000;
const MOST_VIOLATIONS = 100;

const KIND_COLOURS: Readonly<Record<FaultKind, string>> = {
  kill: '--kill',
  stop: '--stop',
  freeze: '--freeze',
  cut: '--cut',
  'cut-to-master': '--half',
  'cut-to-client': '--half',
  'cut-pushes': '--pushes',
  unplug: '--unplug',
  pause: '--pause',
  crash: '--kill',
};
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
<style>${asset('style.css')}</style>
<main>
<h1 class="${isGood(summary) ? 'good' : 'bad'}">${headline(summary)}</h1>
<p>${facts.clients} client processes contend for ${facts.keys.length} keys over ${facts.masters} Redis masters (${escape(facts.backend)}, ${guard}),
while masters and clients are struck. Seed ${facts.seed} · ${escape(versions.join(' · '))} · ${escape(facts.startedAt)}<br><code>${escape(facts.command)}</code></p>
${violations(summary)}
${tiles(run, summary)}
<div class="card">
<div class="bar"><h2>Timeline</h2><button data-do="in">+</button><button data-do="out">−</button><button data-do="all">whole run</button>
<span>wheel: zoom · drag: move · shift+wheel: sideways · strip above: go there</span></div>
<canvas id="map"></canvas><canvas id="lines"></canvas>
${legend(run)}
</div>
<div class="tables">
${latencyTable('Grants in one attempt (tryAcquire), ms', summary.attempts)}
${latencyTable('All grants, the wait for other holders included, ms', summary.waits)}
${countTable('Grants', summary.grants)}
${countTable('Refusals and failures by code', summary.refusals)}
${countTable('Faults', summary.faults)}
${countTable('What the checker looked at', summary.verdict.judged)}
</div>
</main>
<div id="tip"></div>
<script type="application/json" id="data">${data}</script>
<script type="module">${asset('timeline.mjs')}</script>
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

function tiles(run: RunModel, { grants, refusals, ends, takeovers, faults, verdict }: Summary): string {
  const overlaps = verdict.violations.filter(({ kind }) => kind === 'overlap').length;
  const lapsed = (ends['lost'] ?? 0) + (ends['open'] ?? 0);
  const list: [string, string][] = [
    [sum(grants).toLocaleString('en-US'), 'leases granted'],
    [`${overlaps}`, 'overlaps of valid leases'],
    [(refusals['LOCK_TAKEN'] ?? 0).toLocaleString('en-US'), 'honest refusals (LOCK_TAKEN)'],
    [lapsed.toLocaleString('en-US'), 'leases lost, or of a crashed holder'],
    [
      takeovers.count.toLocaleString('en-US'),
      `taken over, ${inMs(takeovers.p50Ms)} ms after the end (median)`,
    ],
    [`${sum(faults)}`, `faults, ${run.spans.filter(isOfMaster).length} of masters`],
    [verdict.judged.heals.toLocaleString('en-US'), 'answers after a heal, in time'],
  ];
  return `<div class="tiles">${list.map(([figure, what]) => `<div class="tile"><b>${figure}</b><span>${what}</span></div>`).join('')}</div>`;
}

function legend({ facts }: RunModel): string {
  const clients = Array.from(
    { length: facts.clients },
    (_, i) => `<li><i data-client="${i}"></i>c${i + 1}</li>`,
  );
  const kinds = Object.entries(KIND_COLOURS)
    .filter(([kind]) => kind !== 'cut-to-client' && kind !== 'crash')
    .map(
      ([kind, colour]) =>
        `<li><i style="background:var(${colour})"></i>${kind === 'cut-to-master' ? 'cut one way' : kind === 'kill' ? 'killed −9' : kind}</li>`,
    );
  return `<ul class="legend">${clients.join('')}</ul><ul class="legend">${kinds.join('')}
<li><i style="background:var(--quiet);opacity:.4"></i>paler: up again, not voting yet (guard)</li>
<li><i style="background:var(--kill);width:3px"></i>red end: lost, or its holder was killed</li>
<li><i style="background:var(--fault)"></i>a minority faulty</li><li><i style="background:var(--worst)"></i>a majority faulty</li>
<li>dots: time to a grant, 1 ms to 4 s, logarithmic</li></ul>`;
}

function latencyTable(title: string, list: readonly Latency[]): string {
  const rows = list.map(({ phase, count, p50Ms, p99Ms, maxMs }) => {
    return `<tr><td>${phase}<td>${count.toLocaleString('en-US')}<td>${inMs(p50Ms)}<td>${inMs(p99Ms)}<td>${inMs(maxMs)}`;
  });
  return `<div class="card"><h2>${title}</h2><table><tr><th>masters<th>count<th>p50<th>p99<th>longest${rows.join('')}</table></div>`;
}

function countTable(title: string, counts: Readonly<Record<string, number>>): string {
  const rows = Object.entries(counts).map(
    ([name, count]) => `<tr><td>${escape(name)}<td>${count.toLocaleString('en-US')}`,
  );
  return `<div class="card"><h2>${title}</h2><table>${rows.join('') || `<tr><td>${describeTally(counts)}`}</table></div>`;
}

/** Lists of numbers, sorted by their first one: [from, to, …], in ms since the run began. */
function timelineData(run: RunModel): object {
  const { facts, startT, endT, leases } = run;
  const clients = Array.from({ length: facts.clients }, (_, i) => `c${i + 1}`);
  const masters = Array.from({ length: facts.masters }, (_, i) => `m${i + 1}`);
  const clientOf = ({ process }: LeaseSpan): number => clients.indexOf(process.replace(/\.\d+$/, ''));
  const at = (t: number): number => Math.round((Math.min(t, endT) - startT) * 10) / 10;
  const spansOf = (target: string): (number | string)[][] =>
    byFirst(run.spans.filter((span) => span.target === target).map((span) => spanRow(span, at)));
  const masterSpans = masters.map(spansOf);
  const clientSpans = clients.map(spansOf);
  const troubles = new Weather(run)
    .troubles()
    .map(({ fromT, toT, isWorst }) => [at(fromT), at(toT), isWorst ? 1 : 0]);
  const leaseRows = facts.keys.map((key) =>
    byFirst(
      leases
        .filter(({ keys }) => keys.includes(key))
        .map((lease) => [
          at(lease.t),
          at(Math.max(lease.t, believedEnd(lease))),
          clientOf(lease),
          OUTCOME_NUMBERS[lease.outcome],
        ]),
    ),
  );
  const fresh = leases.filter(({ from }) => from === undefined);
  return {
    lengthMs: at(endT),
    firstWindowMs: FIRST_WINDOW_MS,
    keys: facts.keys,
    masters,
    clients,
    kindColours: KIND_COLOURS,
    outcomes: OUTCOMES,
    leases: leaseRows,
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

function spanRow(
  { strikeT, mendT, mendedT, kind, how }: Span,
  at: (t: number) => number,
): (number | string)[] {
  return [at(strikeT), at(mendT), kind, at(mendedT), how ?? ''];
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

function asset(name: string): string {
  return readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8');
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}
