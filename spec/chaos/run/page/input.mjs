/** What mouse, fingers, keys and buttons do to the timeline. */
import { dragged, pinched, plotOf, timeAt, zoomed } from './geometry.ts';

/** @returns how far from the canvas's left edge */
export function across(canvas, clientX) {
  return clientX - canvas.getBoundingClientRect().left;
}

const plotIn = (canvas) => plotOf(canvas.getBoundingClientRect().width);

export function listen(timeline) {
  listenToPointers(timeline);
  listenToWheel(timeline);
  listenToKeys(timeline);
  listenToMap(timeline);
  for (const button of document.querySelectorAll('button[data-do]')) {
    button.addEventListener('click', () => {
      if (button.dataset.do === 'all') timeline.show({ from: 0, to: timeline.lengthMs });
      else zoom(timeline, button.dataset.do === 'in' ? 0.5 : 2);
    });
  }
}

function zoom({ view, show }, factor) {
  const { from, to } = view();
  show(zoomed({ from, to }, factor, (from + to) / 2));
}

/** Nearer than this, a finger went nowhere. */
const TAP_PX = 4;

/** A mouse or a finger drags, two fingers zoom; a finger that went nowhere asks what is there. */
function listenToPointers({ lines, view, show, tell }) {
  const down = new Map();
  let start;
  const begin = () => (start = { view: view(), xs: [...down.values()] });
  lines.addEventListener('pointerdown', (event) => {
    tell();
    if (down.size === 2) return;
    down.set(event.pointerId, across(lines, event.clientX));
    lines.setPointerCapture(event.pointerId);
    begin();
  });
  lines.addEventListener('pointermove', (event) => {
    if (!down.has(event.pointerId)) return event.pointerType === 'mouse' ? tell(event) : undefined;
    down.set(event.pointerId, across(lines, event.clientX));
    const [x, other] = down.values();
    const plot = plotIn(lines);
    if (other === undefined) show(dragged(start.view, x - start.xs[0], plot));
    else show(pinched(start.view, start.xs, [x, other], plot));
  });
  const end = (event) => {
    if (!down.delete(event.pointerId)) return;
    const isTap = start.xs.length === 1 && Math.abs(across(lines, event.clientX) - start.xs[0]) < TAP_PX;
    if (event.type === 'pointerup' && isTap) tell(event);
    begin();
  };
  lines.addEventListener('pointerup', end);
  lines.addEventListener('pointercancel', end); // the page scrolls
  lines.addEventListener('pointerleave', ({ pointerType }) => (pointerType === 'mouse' ? tell() : undefined));
}

function listenToWheel({ lines, view, show }) {
  lines.addEventListener('wheel', (event) => {
    event.preventDefault();
    const plot = plotIn(lines);
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      show(dragged(view(), -(event.deltaX || event.deltaY), plot));
    else
      show(zoomed(view(), Math.exp(event.deltaY / 400), timeAt(across(lines, event.clientX), view(), plot)));
  });
}

function listenToKeys(timeline) {
  const { lines, view, show } = timeline;
  const move = (tenths) => {
    const { from, to } = view();
    const by = ((to - from) / 10) * tenths;
    show({ from: from + by, to: to + by });
  };
  const keys = {
    ArrowLeft: () => move(-1),
    ArrowRight: () => move(1),
    '+': () => zoom(timeline, 0.5),
    '-': () => zoom(timeline, 2),
  };
  lines.addEventListener('keydown', (event) => {
    if (keys[event.key] === undefined) return;
    event.preventDefault();
    keys[event.key]();
  });
}

function listenToMap({ map, lengthMs, view, show }) {
  const jump = (event) => {
    if (event.buttons === 0) return;
    const { from, to } = view();
    const t = timeAt(across(map, event.clientX), { from: 0, to: lengthMs }, plotIn(map));
    show({ from: t - (to - from) / 2, to: t + (to - from) / 2 });
  };
  map.addEventListener('pointerdown', jump);
  map.addEventListener('pointermove', jump);
}
