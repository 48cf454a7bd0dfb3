/**
 * The timeline, in the browser: drawn on a canvas, and only what lies in the window, since an hour has tens of thousands
 * of leases. All times are milliseconds since the run began.
 */
import { COLUMN, columnsOf, plotOf, timeAt, within as withinRun, xOf } from './geometry.ts';
import { across, listen } from './input.mjs';

const data = JSON.parse(document.getElementById('data').textContent);
const map = document.getElementById('map');
const lines = document.getElementById('lines');
const tip = document.getElementById('tip');
const KEY_HEIGHT = 30;
const LATENCY_HEIGHT = 74;
const ROW_HEIGHT = 17;
const GAP = 24;
const lanes = [];
let view = { from: 0, to: data.lengthMs };
let colours = {};

const whole = () => ({ from: 0, to: data.lengthMs });
const plotIn = (canvas) => plotOf(canvas.getBoundingClientRect().width);
const clientColour = (i) => colours[`--client-${i}`];
const spanColour = (kind) => colours[`--${data.marks[kind]}`] ?? colours['--quiet'];

function layOut() {
  lanes.length = 0;
  let y = 20;
  const add = (kind, name, index, height) => {
    lanes.push({ kind, name, index, y, height });
    y += height;
  };
  data.keys.forEach((name, i) => add('key', name, i, KEY_HEIGHT));
  y += GAP;
  add('latency', 'time to a grant', 0, LATENCY_HEIGHT);
  y += GAP;
  data.masters.forEach((name, i) => add('master', name, i, ROW_HEIGHT));
  y += GAP;
  data.clients.forEach((name, i) => add('client', name, i, ROW_HEIGHT));
  lines.style.height = `${y + 6}px`;
}

function prepare(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = devicePixelRatio;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'middle';
  return { context, width, height };
}

/** The first item that begins at `t` or later; lists are sorted by their first number. */
function firstFrom(list, t) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle][0] < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What has a time and no length. */
function* pointsWithin(list, { from, to }) {
  for (let i = firstFrom(list, from); i < list.length && list[i][0] <= to; i++) yield list[i];
}

/** No lease and no fault begins longer before its end than the longest one. */
function* within(list, longestMs, { from, to }) {
  for (let i = firstFrom(list, from - longestMs); i < list.length && list[i][0] <= to; i++) {
    if (list[i][1] >= from) yield list[i];
  }
}

function draw() {
  const { context, width, height } = prepare(lines);
  const plot = plotOf(width);
  const x = (t) => xOf(t, view, plot);
  drawTroubles(context, x, { plot, height });
  drawAxis(context, x, { plot, height });
  for (const lane of lanes) {
    drawName(context, lane, plot);
    context.save();
    context.beginPath();
    context.rect(plot.left, lane.y - 4, plot.width, lane.height + 8);
    context.clip();
    drawLane[lane.kind](context, lane, { x, plot });
    context.restore();
  }
  drawMap();
}

const LEVELS = [1, 10, 100, 1_000];

function levelOf(ms, lane) {
  return lane.y + lane.height - (Math.log10(Math.max(1, ms)) / Math.log10(4_000)) * lane.height;
}

/** Beside the lane, where nothing is drawn; that of the dots above them, since their scale stands beside. */
function drawName(context, lane, { left, width }) {
  context.fillStyle = colours['--soft'];
  context.textAlign = 'left';
  if (lane.kind === 'latency') {
    context.fillText(lane.name, left, lane.y - 9, width);
    context.textAlign = 'right';
    for (const ms of LEVELS)
      context.fillText(ms < 1_000 ? `${ms} ms` : '1 s', left - 6, levelOf(ms, lane), Math.max(1, left - 6));
    return;
  }
  context.fillText(lane.name, 0, lane.y + lane.height / 2, Math.max(1, left - 6));
  context.fillStyle = colours['--lane'];
  context.fillRect(left, lane.y + 2, width, lane.height - 4);
}

function drawTroubles(context, x, { plot: { left, width }, height }) {
  for (const [from, to, worst] of within(data.troubles, data.longestTroubleMs, view)) {
    const start = Math.max(left, x(from));
    const end = Math.min(left + width, x(to));
    context.fillStyle = colours[worst ? '--worst' : '--fault'];
    context.fillRect(start, 14, Math.max(1, end - start), height - 14);
  }
}

function drawAxis(context, x, { plot: { left, width }, height }) {
  const wanted = ((view.to - view.from) * 80) / width;
  const steps = [
    5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 12e5, 36e5,
  ];
  const step = steps.find((one) => one >= wanted) ?? 72e5;
  context.textAlign = 'center';
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    context.fillStyle = colours['--grid'];
    context.fillRect(x(t), 16, 1, height - 16);
    context.fillStyle = colours['--soft'];
    context.fillText(clockText(t, step), Math.min(x(t), left + width - 16), 7);
  }
}

function clockText(t, step) {
  const digits = step < 100 ? 2 : step < 1_000 ? 1 : 0;
  if (data.lengthMs < 120_000) return `${(t / 1_000).toFixed(digits)} s`;
  return `${Math.floor(t / 60_000)}:${((t % 60_000) / 1_000).toFixed(digits).padStart(digits > 0 ? 3 + digits : 2, '0')}`;
}

const drawLane = {
  key(context, lane, { x }) {
    const height = (lane.height - 8) / data.tracks[lane.index];
    const bars = within(data.leases[lane.index], data.longestLeaseMs, view);
    for (const [from, to, client, outcome, track] of bars) {
      const width = Math.max(0.8, x(to) - x(from) - 0.4);
      const y = lane.y + 4 + track * height;
      context.fillStyle = clientColour(client);
      context.fillRect(x(from), y, width, height);
      if (outcome === 1) continue;
      context.fillStyle = colours['--kill'];
      context.fillRect(x(to) - Math.min(2, width), y - 3, Math.min(2, width), height + 6);
    }
  },
  latency(context, lane, { x, plot }) {
    context.fillStyle = colours['--grid'];
    for (const ms of LEVELS) context.fillRect(plot.left, levelOf(ms, lane), plot.width, 1);
    for (const [t, ms, client] of pointsWithin(data.latencies, view)) {
      context.fillStyle = clientColour(client);
      context.fillRect(x(t) - 1.5, levelOf(ms, lane) - 1.5, 3, 3);
    }
  },
  master(context, lane, { x, plot }) {
    drawSpans(context, lane, { x, plot, spans: data.masterSpans[lane.index] });
  },
  client(context, lane, { x, plot }) {
    context.fillStyle = clientColour(lane.index);
    context.fillRect(plot.left, lane.y + lane.height / 2 - 1, plot.width, 2);
    drawSpans(context, lane, { x, plot, spans: data.clientSpans[lane.index] });
  },
};

function drawSpans(context, lane, { x, plot, spans }) {
  for (const [from, to, kind, until, how] of within(spans, data.longestSpanMs, view)) {
    context.fillStyle = spanColour(kind);
    context.fillRect(x(from), lane.y + 2, Math.max(1.5, x(to) - x(from)), lane.height - 4);
    context.globalAlpha = 0.35; // up again, and not voting yet
    context.fillRect(x(to), lane.y + 2, Math.max(0, x(until) - x(to)), lane.height - 4);
    context.globalAlpha = 1;
    const name = how === '' ? kind : `${kind}, ${how}`;
    const start = Math.max(plot.left, x(from));
    if (Math.min(x(to), plot.left + plot.width) - start < context.measureText(name).width + 8) continue;
    context.fillStyle = colours['--card'];
    context.textAlign = 'left';
    context.fillText(name, start + 4, lane.y + lane.height / 2 + 0.5);
  }
}

/** The whole run: grants a pixel as bars, faults behind them, and the window. */
function drawMap() {
  const { context, width, height } = prepare(map);
  const plot = plotOf(width);
  const x = (t) => xOf(t, whole(), plot);
  for (const [from, to, worst] of data.troubles) {
    context.fillStyle = colours[worst ? '--worst' : '--fault'];
    context.fillRect(x(from), 0, Math.max(1, x(to) - x(from)), height);
  }
  const columns = columnsOf(data.grants, whole(), plot);
  const most = Math.max(1, ...columns);
  context.fillStyle = colours['--quiet'];
  columns.forEach((count, i) => {
    const tall = (count / most) * (height - 6);
    context.fillRect(plot.left + i * COLUMN, height - tall, COLUMN - 0.8, tall);
  });
  context.strokeStyle = colours['--ink'];
  context.lineWidth = 1.5;
  context.strokeRect(x(view.from), 1, Math.max(3, x(view.to) - x(view.from)), height - 2);
  context.fillStyle = colours['--soft'];
  context.fillText('grants', 0, height / 2, Math.max(1, plot.left - 6));
}

function show(wanted) {
  view = withinRun(wanted, data.lengthMs);
  draw();
}

function describeAt(clientX, clientY) {
  const t = timeAt(across(lines, clientX), view, plotIn(lines));
  const y = clientY - lines.getBoundingClientRect().top;
  const lane = lanes.find((one) => y >= one.y && y < one.y + one.height);
  const near = ((view.to - view.from) / plotIn(lines).width) * 2;
  const window = { from: t - near, to: t + near };
  const when = (from, to) => `${(from / 1_000).toFixed(3)} s, for ${Math.round(to - from)} ms`;
  if (lane?.kind === 'key') {
    const [lease] = within(data.leases[lane.index], data.longestLeaseMs, window);
    if (lease !== undefined)
      return `${data.clients[lease[2]]} held ${lane.name}\n${when(lease[0], lease[1])}\n${data.outcomes[lease[3]]}`;
  } else if (lane?.kind === 'master' || lane?.kind === 'client') {
    const spans = lane.kind === 'master' ? data.masterSpans : data.clientSpans;
    const [span] = within(spans[lane.index], data.longestSpanMs, window);
    if (span !== undefined)
      return `${lane.name}: ${span[2]}${span[4] === '' ? '' : `, ${span[4]}`}\n${when(span[0], span[1])}`;
  } else if (lane?.kind === 'latency') {
    const [dot] = pointsWithin(data.latencies, window);
    if (dot !== undefined) return `${data.clients[dot[2]]}: granted after ${dot[1]} ms`;
  }
  return '';
}

function tell(event) {
  const text = event === undefined ? '' : describeAt(event.clientX, event.clientY);
  tip.style.display = text === '' ? 'none' : 'block';
  tip.textContent = text;
  if (event === undefined) return;
  tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${event.clientY + 14}px`;
}

const COLOURS = ['card', 'ink', 'soft', 'grid', 'lane', 'quiet', 'fault', 'worst'];

function begin() {
  const style = getComputedStyle(document.documentElement);
  const names = [...COLOURS, ...Object.values(data.marks), ...data.clients.map((_, i) => `client-${i}`)];
  colours = Object.fromEntries(
    names.map((name) => [`--${name}`, style.getPropertyValue(`--${name}`).trim()]),
  );
  draw();
}

layOut();
// a window in which single leases can be seen, around the worst of it
if (data.lengthMs > data.firstWindowMs) {
  const worst = data.troubles.find(([, , isWorst]) => isWorst) ?? data.troubles[0] ?? [0];
  const from = worst[0] - data.firstWindowMs / 4;
  view = withinRun({ from, to: from + data.firstWindowMs }, data.lengthMs);
}
listen({ lines, map, lengthMs: data.lengthMs, view: () => view, show, tell });
addEventListener('resize', draw);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', begin);
begin();
