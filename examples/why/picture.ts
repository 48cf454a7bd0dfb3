/**
 * The picture of a trial: a lane for each party, its steps from left to right, a bar where it takes the lock for its
 * own, and a red band where two do. Steps are numbered; what each was stands beside the picture, where it can be read
 * on any screen.
 */
import { tag, text } from '../jobs/svg.js';
import type { Tape } from './tape.js';

const WIDTH = 440;
/** What a letter of a lane's name takes. */
const LETTER = 7.6;
const RIGHT = 22;
const TOP = 14;
const LANE = 46;
const BAR = 22;

export function picture(tape: Tape, label: string): string {
  const height = TOP * 2 + tape.lanes.length * LANE;
  const last = tape.steps.length;
  const left = 24 + LETTER * Math.max(3, ...tape.lanes.map((who) => who.length));
  const x = (step: number): number => left + 14 + ((WIDTH - left - RIGHT - 14) * step) / last;
  const y = (who: string): number => TOP + (tape.lanes.indexOf(who) + 0.5) * LANE;
  const end = x(last);
  const lanes = tape.lanes.flatMap((who) => [
    text(who, { class: 'lane', x: left - 10, y: y(who) + 4.5, 'text-anchor': 'end' }),
    tag('line', { class: 'rail', x1: left, x2: WIDTH - RIGHT / 2, y1: y(who), y2: y(who) }),
  ]);
  const overlaps = tape.overlaps.map(({ from, to }) =>
    tag('rect', {
      class: 'overlap',
      x: x(from),
      y: TOP / 2,
      width: Math.min(x(to), end) - x(from),
      height: height - TOP,
      rx: 4,
    }),
  );
  const bars = tape.beliefs.map(({ who, from, to }) =>
    tag('rect', {
      class: 'belief',
      x: x(from),
      y: y(who) - BAR / 2,
      width: (to === undefined ? end : x(to)) - x(from),
      height: BAR,
      rx: BAR / 2,
    }),
  );
  const steps = tape.steps.flatMap(({ who, kind }, i) => [
    tag('circle', { class: `step ${kind}`, cx: x(i), cy: y(who), r: 10 }),
    text(`${i + 1}`, { class: `number ${kind}`, x: x(i), y: y(who) + 4, 'text-anchor': 'middle' }),
  ]);
  const attributes = { class: 'trial', viewBox: `0 0 ${WIDTH} ${height}`, role: 'img', 'aria-label': label };
  return tag('svg', attributes, [...overlaps, ...lanes, ...bars, ...steps].join('\n'));
}
