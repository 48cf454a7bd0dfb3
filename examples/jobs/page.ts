/** The page around the picture: what one sees, the legend, the summary. One file, nothing is fetched. */
import { colours } from './picture-style.js';
import { describeFault, inMs, isGood, risesIn, type Summary } from './summary.js';
import { escape } from './svg.js';

/** Widths in px for which a run's picture is drawn: for a phone, for a half and for a whole screen. */
export const PICTURE_WIDTHS = [366, 760, 1240] as const;

/** @param pictures one for each of `PICTURE_WIDTHS` */
export function page(summary: Summary, pictures: readonly string[]): string {
  const { options } = summary;
  const title = `quorate: ${options.jobs} jobs on ${options.workers} workers`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
${STYLE}
</style>
<main>
<h1>${escape(headline(summary))}</h1>
${story(summary)}
<div class="pictures">${pictures.map((svg) => `<div>${svg}</div>`).join('\n')}</div>
${legend(options.nodes.length === 0)}
${faultList(summary)}
<div class="tables">
${factsTable(summary)}
${latencyTable(summary)}
</div>
${notes(summary)}
</main>
</html>
`;
}

function headline(summary: Summary): string {
  const { options, jobsDone, faults } = summary;
  if (!isGood(summary)) return `Not good: ${jobsDone} of ${options.jobs} jobs done`;
  return `${options.jobs} jobs, each ran once, through ${faults.length} faults`;
}

function story(summary: Summary): string {
  const { options, problems } = summary;
  const masters =
    options.nodes.length > 0 ? `${options.nodes.length} masters` : 'five independent Redis masters';
  const bad = problems.map((problem) => `<li>${escape(problem)}</li>`).join('');
  return `<p>${options.workers} worker processes try every job; whoever gets the job's lease from ${masters} does it, unless the
ledger says that it is done. Each blue bar is a job being done, each small grey one a worker that came later and found it done.
${options.nodes.length > 0 ? 'The masters came from QUORATE_NODES, so nothing was done to them: only workers were struck.' : STORY_OF_MASTERS}
A worker that dies or stops keeps its job until its lease has run out (red); then another takes the job over (green).</p>
${bad === '' ? '' : `<ul class="bad">${bad}</ul>`}`;
}

const STORY_OF_MASTERS =
  'While one master is dead or frozen the other four still are a quorum and acquiring goes on: compare the dots.';

function legend(masters: boolean): string {
  const bars: [string, string][] = [
    ['done', 'lease: the job was done'],
    ['found', 'lease: found it done'],
    ['lost', 'lease lost: until its validity ended'],
    ['takeover', 'job taken over'],
    ['paused', 'worker paused'],
    ...(masters ? MASTER_COLOURS : []),
  ];
  const dots: [string, string][] = [
    ['dot', 'acquire, healthy'],
    ['faulty', 'acquire during a fault'],
  ];
  const item = (shape: 'bar' | 'dot', [colour, words]: [string, string]): string => {
    return `<li><span class="${shape}" style="background:var(--${colour})"></span>${words}</li>`;
  };
  const items = [...bars.map((each) => item('bar', each)), ...dots.map((each) => item('dot', each))];
  return `<ul class="legend">${items.join('')}<li>✕ killed, or late effect refused</li></ul>`;
}

const MASTER_COLOURS: [string, string][] = [
  ['dead', 'master dead'],
  ['frozen', 'master frozen'],
];

function factsTable(summary: Summary): string {
  const { verdict, options, takeovers } = summary;
  const { least, most } = verdict.effects;
  const rows: [string, string][] = [
    ['Jobs done', `${summary.jobsDone} of ${options.jobs} in ${(summary.endMs / 1_000).toFixed(1)} s`],
    ['Accepted effects per job, least and most', `${least} and ${most}`],
    [
      'Leases of one job that were valid at the same time',
      `${verdict.overlaps.length} of ${summary.leases} leases`,
    ],
    ['Fences rise with every grant of a job', risesIn(summary)],
    ['Jobs taken over', `${takeovers.length}`],
    ...takeovers.map(({ job, from, to, afterEndMs }): [string, string] => [
      `· job:${job}, lease of ${from.worker}, to ${to.worker}`,
      `${Math.round(afterEndMs)} ms after its end`,
    ]),
    ['Stale effects refused by the ledger (it had seen a higher fence)', `${summary.stale}`],
    ['Late effects accepted (before anybody had taken over)', `${summary.late}`],
    ['Longest time from a lease’s “held” to the ledger', `${inMs(summary.gapMs)} ms`],
    ['Renewals seen', `${summary.extensions}`],
    ['Attempts that found the job held', `${summary.refusals}`],
    ['Attempts without a quorum of answers', `${summary.undecided}`],
  ];
  const body = rows.map(([name, figure]) => `<tr><td>${escape(name)}<td>${escape(figure)}`).join('\n');
  return `<table><caption>Counted after the run</caption>${body}</table>`;
}

function latencyTable({ latencies }: Summary): string {
  const body = latencies.map(({ phase, count, p50Ms, p99Ms, maxMs }) => {
    const figures = [`${count}`, ...[p50Ms, p99Ms, maxMs].map(inMs)];
    return `<tr><td>${escape(phase)}${figures.map((figure) => `<td class="figure">${figure}`).join('')}`;
  });
  const head =
    '<tr><th>While<th class="figure">acquires<th class="figure">p50<th class="figure">p99<th class="figure">longest';
  return `<table><caption>Acquire, in ms: one attempt that was granted</caption>${head}\n${body.join('\n')}</table>`;
}

/** Numbered as in the picture, which has room for few words. */
function faultList({ faults }: Summary): string {
  const list = faults.map((fault) => `<li>${escape(describeFault(fault))}</li>`).join('');
  return `<section><h2>The faults, one after another, never two at once</h2><ol class="faults">${list}</ol></section>`;
}

function notes({ options }: Summary): string {
  const items = [
    `<b>Who refuses a stale effect?</b> The ledger. Whatever a worker says to it carries <code>lease.fence</code>, a number that
rises with every grant of a job: first the question whether the job is done, then the effect. What is lower than the highest that
it has seen is refused. The worker that was paused was told by its lease that it is lost (LOCK_LOST); a careful program stops there,
this one sends its effect all the same. A program can also be stopped between its lease's “held” and the ledger, and then not know:
no lease closes that gap, the fence does.`,
    `<b>What the fence keeps out, and what it does not.</b> It keeps out what comes from an earlier holder once a later one has
asked. Before that a late effect is accepted, rightly: the next holder will hear that the job is done. It does not keep out a
second effect under the newest fence, and it does not undo work: two workers may have worked on one job.`,
    `<b>What is counted and checked.</b> The ledger is a file that only grows; it knows neither Redis, leases nor clocks. An accepted
second effect is counted, and the run fails. Since the ledger helps now, “1” alone is no proof of exclusion: that no two leases
of a job overlap is checked apart from it, from the workers' own log on the machine's monotonic clock, and so are the fences.`,
    ...(options.nodes.length === 0 ? [WHY_WAIT] : []),
    `Seed ${options.seed}, ttl ${options.ttlMs} ms, renewed while a job runs. The same seed repeats the order of the jobs and the
length of their work, not the timing.`,
  ];
  return `<div class="notes">${items.map((item) => `<div class="note">${item}</div>`).join('\n')}</div>`;
}

const WHY_WAIT = `<b>Why the killed master stays away for one ttl.</b> It comes back empty. Back at once, it would have forgotten
the votes it gave, and could vote a second time for a lock that is held: with two masters that did not answer the first
time, the second claimant would have a quorum too. After one ttl, every lease that it may have forgotten a vote for has run out or
was renewed on a quorum of the others.`;

const STYLE = `${colours(':root')}
:root{color-scheme:light dark}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}
main{max-width:1280px;margin:0 auto;padding:24px 20px 48px}
h1{font-size:26px;line-height:1.25;margin:0 0 8px}
p{max-width:86ch;margin:0 0 14px}
.pictures{border:1px solid var(--grid);border-radius:8px;padding:8px 0}
.pictures svg{display:block;width:100%;height:auto}
.pictures div{display:none}
@media (max-width:599px){.pictures div:nth-child(1){display:block}main{padding:20px 12px 40px}h1{font-size:22px}}
@media (min-width:600px) and (max-width:999px){.pictures div:nth-child(2){display:block}}
@media (min-width:1000px){.pictures div:nth-child(3){display:block}}
h2{font-size:15px;margin:0 0 6px}
.faults{counter-reset:fault;list-style:none;margin:0 0 28px;padding:0;max-width:100ch;font-size:14px}
.faults li{counter-increment:fault;position:relative;padding:2px 0 4px 30px}
.faults li::before{content:counter(fault);position:absolute;left:0;top:4px;width:20px;height:20px;border-radius:50%;background:var(--edge);color:var(--ground);font:700 11px/20px system-ui,sans-serif;text-align:center}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 15px;padding:0;margin:12px 0 24px;font-size:12.5px;color:var(--soft)}
.legend span{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px;vertical-align:-1px}
.legend .dot{border-radius:50%}
.tables{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));gap:28px 40px;align-items:start}
table{border-collapse:collapse;width:100%;font-size:14px}
caption{text-align:left;font-weight:600;padding-bottom:6px}
td,th{padding:5px 0 5px 10px;border-top:1px solid var(--grid);text-align:right;vertical-align:top;white-space:nowrap;font-variant-numeric:tabular-nums}
td:first-child,th:first-child{text-align:left;padding-left:0;white-space:normal}
th{font-weight:500;color:var(--soft)}
.notes{margin-top:32px;display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));gap:20px 40px;font-size:14px}
.note{max-width:76ch}
.bad{color:var(--lost);font-weight:600}
`;
