/** The page of the run: the table, and two pictures of each weakness. One file, nothing is fetched. */
import { escape } from '../jobs/svg.js';
import { picture } from './picture.js';
import { type Played } from './results.js';
import { STYLE } from './style.js';
import type { Trial } from './tape.js';
import { LABELS, type Way, WAYS } from './ways.js';

export function page(played: readonly Played[], surprises: readonly string[], about: string): string {
  const bad = surprises.map((one) => `<li>${escape(one)}</li>`).join('');
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>quorate: which lock survives what</title>
<style>
${STYLE}
</style>
<main>
<h1>Which lock survives what</h1>
<p class="lead">Six known weaknesses of locks on Redis, played on real servers a moment ago, and what each way to lock makes of
them. Every cell is the outcome of a live run, not of an opinion.</p>
${bad === '' ? '' : `<ul class="surprise">${bad}</ul>`}
${table(played)}
<p class="legend"><span><i class="swatch belief"></i>takes the lock for its own</span>
<span><i class="swatch overlap"></i>two at the same time</span><span><i class="dot fault"></i>what goes wrong</span>
<span><i class="dot bad"></i>the harm</span><span><i class="dot good"></i>the harm kept off</span></p>
${played.map(section).join('\n')}
<p class="about">${escape(about)}</p>
</main>
</html>
`;
}

function table(played: readonly Played[]): string {
  const head = WAYS.map((way) => `<th scope="col">${escape(LABELS[way])}</th>`).join('');
  const rows = played.map(({ scene, trials }) => {
    const cells = WAYS.map((way) => cell(way, trials.get(way))).join('');
    return `<tr><th scope="row"><a href="#${scene.name}">${escape(scene.title)}</a></th>${cells}</tr>`;
  });
  return `<div class="scroll"><table><thead><tr><td></td>${head}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`;
}

function cell(way: Way, trial: Trial | undefined): string {
  const label = `<span class="way">${escape(LABELS[way])}</span>`;
  if (trial === undefined) return `<td class="none">${label}<span>has no part in it</span></td>`;
  const word = trial.verdict === 'holds' ? '✓ holds' : '✕ breaks';
  return `<td class="${trial.verdict}">${label}<b>${word}</b><span>${escape(trial.outcome)}</span></td>`;
}

function section({ scene, trials }: Played): string {
  const figures = scene.drawn.map((way) => {
    const trial = trials.get(way);
    return trial === undefined ? '' : figure(LABELS[way], trial);
  });
  return `<section id="${scene.name}">
<h2>${escape(scene.title)}</h2>
<p>${escape(scene.weakness)}</p>
<div class="pair">${figures.join('\n')}</div>
<p class="answer">${escape(scene.answer)}</p>
</section>`;
}

function figure(label: string, { tape, verdict, outcome }: Trial): string {
  const steps = tape.steps.map(
    ({ who, text, kind }) => `<li class="${kind}"><b>${escape(who)}</b> ${escape(text)}</li>`,
  );
  const word = verdict === 'holds' ? '✓ holds' : '✕ breaks';
  return `<figure class="${verdict}">
<figcaption><b>${escape(label)}</b><span>${word}: ${escape(outcome)}</span></figcaption>
${picture(tape, `${label}: ${outcome}`)}
<ol>${steps.join('')}</ol>
</figure>`;
}
