/** The faults over all lanes: each with its number, and above it what it was, as far as that has room before the next one. */
import type { Fault } from './faults.js';
import { FAULTS_Y, type Layout } from './picture-layout.js';
import { tag, text } from './svg.js';

/** About as wide as a letter is in a wide font, in px: of the name, and of the lines below it. */
const LETTERS = [8, 6.7] as const;
const BADGE = 26;

export function faultBands(faults: readonly Fault[], layout: Layout): string[] {
  return faults.map((fault, i) => {
    const next = faults[i + 1];
    const room = (next === undefined ? layout.width : layout.x(next.fromMs)) - layout.x(fault.fromMs) - BADGE;
    return faultBand(fault, { number: i + 1, room, layout });
  });
}

interface Place {
  readonly number: number;
  readonly room: number;
  readonly layout: Layout;
}

function faultBand(fault: Fault, { number, room, layout: { x, bottom } }: Place): string {
  const [from, to] = [x(fault.fromMs), x(fault.toMs)];
  const [name = '', ...notes] = faultLabel(fault);
  const isNamed = name.length * LETTERS[0] <= room;
  const lines = isNamed ? [name, ...notes.filter((note) => note.length * LETTERS[1] <= room)] : [];
  return [
    tag('rect', { class: 'band', x: from, y: FAULTS_Y, width: to - from, height: bottom - FAULTS_Y }),
    tag('line', { class: 'edge', x1: from, x2: from, y1: FAULTS_Y, y2: bottom }),
    tag('circle', { class: 'badge', cx: from + 12, cy: FAULTS_Y + 14, r: 9 }),
    text(`${number}`, { class: 'number', x: from + 12, y: FAULTS_Y + 18, 'text-anchor': 'middle' }),
    ...lines.map((line, i) =>
      text(line, { class: i === 0 ? 'fault' : 'note', x: from + BADGE, y: FAULTS_Y + 18 + i * 16 }),
    ),
  ].join('');
}

function faultLabel(fault: Fault): string[] {
  const { target, kind } = fault;
  switch (kind) {
    case 'master-killed': {
      const where =
        fault.hit === undefined ? 'between two acquisitions' : `inside an acquire of ${fault.hit.worker}`;
      return [`${target} killed −9`, where, 'back empty after one ttl'];
    }
    case 'master-frozen':
      return [`${target} frozen`, 'answers nothing', 'until it is thawed'];
    case 'worker-killed':
      return [`${target} killed −9`, `in the middle of job:${fault.job}`, `${fault.takenBy} takes it over`];
    case 'worker-paused':
      return [`${target} paused`, `in the middle of job:${fault.job}`, 'its late effect is refused'];
  }
}
