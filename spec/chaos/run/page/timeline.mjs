/**
 * The timeline, in the browser: drawn on a canvas, and only what lies in the window, since an hour has tens of thousands
 * of leases. All times are milliseconds since the run began.
 */
const data = JSON.parse(document.getElementById('data').textContent);
const map = document.getElementById('map');
const lines = document.getElementById('lines');
const tip = document.getElementById('tip');
const LEFT = 96;
const KEY_HEIGHT = 30;
const LATENCY_HEIGHT = 74;
const ROW_HEIGHT = 17;
const GAP = 22;
const LEAST_MS = 50;
const lanes = [];
const view = { from: 0, to: data.lengthMs };
let colours = {};

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const isDark = () => matchMedia('(prefers-color-scheme: dark)').matches;
const clientColour = (i) => `hsl(${(i * 137.5 + 210) % 360} ${isDark() ? '58% 62%' : '56% 48%'})`;
const spanColour = (kind) => colours[data.kindColours[kind]] ?? colours['--quiet'];

function layOut() {
  lanes.length = 0;
  let y = 20;
  const add = (kind, name, index, height) => {
    lanes.push({ kind, name, index, y, height });
    y += height;
  };
  data.keys.forEach((name, i) => add('key', name, i, KEY_HEIGHT));
  y += GAP;
  add('latency', 'acquire', 0, LATENCY_HEIGHT);
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

/** No lease and no fault begins longer before its end than the longest one. */
function* within(list, longestMs, { from, to }) {
  for (let i = firstFrom(list, from - longestMs); i < list.length && list[i][0] <= to; i++) {
    if (list[i][1] >= from) yield list[i];
  }
}

function draw() {
  const { context, width, height } = prepare(lines);
  const x = (t) => LEFT + ((t - view.from) / (view.to - view.from)) * (width - LEFT - 8);
  drawTroubles(context, x, height);
  drawAxis(context, x, { width, height });
  for (const lane of lanes) {
    context.fillStyle = colours['--soft'];
    context.textAlign = 'left';
    context.fillText(lane.name, 0, lane.y + lane.height / 2);
    if (lane.kind !== 'latency') {
      context.fillStyle = colours['--lane'];
      context.fillRect(LEFT, lane.y + 2, width - LEFT - 8, lane.height - 4);
    }
    context.save();
    context.beginPath();
    context.rect(LEFT, lane.y - 4, width - LEFT - 8, lane.height + 8);
    context.clip();
    drawLane[lane.kind](context, lane, x);
    context.restore();
  }
  drawMap();
}

function drawTroubles(context, x, height) {
  for (const [from, to, worst] of within(data.troubles, data.longestTroubleMs, view)) {
    context.fillStyle = colours[worst ? '--worst' : '--fault'];
    context.fillRect(Math.max(LEFT, x(from)), 14, Math.max(1, x(to) - Math.max(LEFT, x(from))), height - 14);
  }
}

function drawAxis(context, x, { width, height }) {
  const wanted = ((view.to - view.from) * 110) / (width - LEFT);
  const steps = [
    5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 12e5, 36e5,
  ];
  const step = steps.find((one) => one >= wanted) ?? 72e5;
  context.textAlign = 'center';
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    context.fillStyle = colours['--grid'];
    context.fillRect(x(t), 16, 1, height - 16);
    context.fillStyle = colours['--soft'];
    context.fillText(clockText(t, step), Math.min(x(t), width - 24), 7);
  }
}

function clockText(t, step) {
  const digits = step < 100 ? 2 : step < 1_000 ? 1 : 0;
  if (data.lengthMs < 120_000) return `${(t / 1_000).toFixed(digits)} s`;
  return `${Math.floor(t / 60_000)}:${((t % 60_000) / 1_000).toFixed(digits).padStart(digits > 0 ? 3 + digits : 2, '0')}`;
}

const drawLane = {
  key(context, lane, x) {
    for (const [from, to, client, outcome] of within(data.leases[lane.index], data.longestLeaseMs, view)) {
      const width = Math.max(0.8, x(to) - x(from) - 0.4);
      context.fillStyle = clientColour(client);
      context.fillRect(x(from), lane.y + 4, width, lane.height - 8);
      if (outcome === 1) continue;
      context.fillStyle = colours['--kill'];
      context.fillRect(x(to) - Math.min(2, width), lane.y + 1, Math.min(2, width), lane.height - 2);
    }
  },
  latency(context, lane, x) {
    const y = (ms) => lane.y + lane.height - (Math.log10(Math.max(1, ms)) / Math.log10(4_000)) * lane.height;
    context.textAlign = 'left';
    for (const ms of [1, 10, 100, 1_000]) {
      context.fillStyle = colours['--grid'];
      context.fillRect(LEFT, y(ms), lines.clientWidth, 1);
      context.fillStyle = colours['--soft'];
      context.fillText(ms < 1_000 ? `${ms} ms` : '1 s', LEFT + 3, y(ms) - 7);
    }
    for (const [t, ms, client] of within(data.latencies, 0, { from: view.from, to: view.to })) {
      context.fillStyle = clientColour(client);
      context.fillRect(x(t) - 1, y(ms) - 1, 2.4, 2.4);
    }
  },
  master(context, lane, x) {
    drawSpans(context, lane, x, data.masterSpans[lane.index]);
  },
  client(context, lane, x) {
    context.fillStyle = clientColour(lane.index);
    context.fillRect(LEFT, lane.y + lane.height / 2 - 1, 4_000, 2);
    drawSpans(context, lane, x, data.clientSpans[lane.index]);
  },
};

function drawSpans(context, lane, x, spans) {
  for (const [from, to, kind, until, how] of within(spans, data.longestSpanMs, view)) {
    context.fillStyle = spanColour(kind);
    context.fillRect(x(from), lane.y + 2, Math.max(1.5, x(to) - x(from)), lane.height - 4);
    context.globalAlpha = 0.35; // up again, and not voting yet
    context.fillRect(x(to), lane.y + 2, Math.max(0, x(until) - x(to)), lane.height - 4);
    context.globalAlpha = 1;
    const name = how === '' ? kind : `${kind}, ${how}`;
    if (x(to) - x(from) < context.measureText(name).width + 8) continue;
    context.fillStyle = colours['--card'];
    context.textAlign = 'left';
    context.fillText(name, Math.max(LEFT, x(from)) + 4, lane.y + lane.height / 2 + 0.5);
  }
}

/** The whole run: grants a pixel as bars, faults behind them, and the window. */
function drawMap() {
  const { context, width, height } = prepare(map);
  const x = (t) => LEFT + (t / data.lengthMs) * (width - LEFT - 8);
  for (const [from, to, worst] of data.troubles) {
    context.fillStyle = colours[worst ? '--worst' : '--fault'];
    context.fillRect(x(from), 0, Math.max(1, x(to) - x(from)), height);
  }
  const columns = new Float64Array(Math.ceil((width - LEFT) / 3) + 1);
  for (const [t] of data.grants) columns[Math.floor((x(t) - LEFT) / 3)] += 1;
  const most = columns.reduce((a, b) => Math.max(a, b), 1);
  context.fillStyle = colours['--quiet'];
  columns.forEach((count, i) => {
    const tall = (count / most) * (height - 6);
    context.fillRect(LEFT + i * 3, height - tall, 2.2, tall);
  });
  context.strokeStyle = colours['--ink'];
  context.lineWidth = 1.5;
  context.strokeRect(x(view.from), 1, Math.max(3, x(view.to) - x(view.from)), height - 2);
  context.fillStyle = colours['--soft'];
  context.fillText('grants', 0, height / 2);
}

function show(from, to) {
  const width = Math.min(data.lengthMs, Math.max(LEAST_MS, to - from));
  view.from = Math.min(Math.max(0, from), data.lengthMs - width);
  view.to = view.from + width;
  draw();
}

function zoom(factor, at = (view.from + view.to) / 2) {
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

function timeAt(canvas, clientX, { from, to }) {
  const { left, width } = canvas.getBoundingClientRect();
  return from + ((clientX - left - LEFT) / (width - LEFT - 8)) * (to - from);
}

function describeAt(clientX, clientY) {
  const t = timeAt(lines, clientX, view);
  const y = clientY - lines.getBoundingClientRect().top;
  const lane = lanes.find((one) => y >= one.y && y < one.y + one.height);
  const near = ((view.to - view.from) / lines.clientWidth) * 2;
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
      return `${lane.name}: ${span[2]}${span[4] === '' ? '' : `, data ${span[4]}`}\n${when(span[0], span[1])}`;
  } else if (lane?.kind === 'latency') {
    const [dot] = within(data.latencies, 0, window);
    if (dot !== undefined) return `${data.clients[dot[2]]}: granted after ${dot[1]} ms`;
  }
  return '';
}

function listen() {
  let dragged;
  lines.addEventListener('wheel', (event) => {
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = ((event.deltaX || event.deltaY) / lines.clientWidth) * (view.to - view.from);
      show(view.from + by, view.to + by);
    } else zoom(Math.exp(event.deltaY / 400), timeAt(lines, event.clientX, view));
  });
  lines.addEventListener('pointerdown', (event) => {
    dragged = { x: event.clientX, from: view.from, to: view.to };
    lines.setPointerCapture(event.pointerId);
  });
  lines.addEventListener('pointerup', () => (dragged = undefined));
  lines.addEventListener('pointermove', (event) => {
    if (dragged !== undefined) {
      const by = ((dragged.x - event.clientX) / (lines.clientWidth - LEFT)) * (dragged.to - dragged.from);
      show(dragged.from + by, dragged.to + by);
    }
    const text = dragged === undefined ? describeAt(event.clientX, event.clientY) : '';
    tip.style.display = text === '' ? 'none' : 'block';
    tip.textContent = text;
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${event.clientY + 14}px`;
  });
  lines.addEventListener('pointerleave', () => (tip.style.display = 'none'));
  const jump = (event) => {
    if (event.buttons === 0) return;
    const half = (view.to - view.from) / 2;
    const t = timeAt(map, event.clientX, { from: 0, to: data.lengthMs });
    show(t - half, t + half);
  };
  map.addEventListener('pointerdown', jump);
  map.addEventListener('pointermove', jump);
  for (const button of document.querySelectorAll('button[data-do]')) {
    button.addEventListener('click', () => {
      if (button.dataset.do === 'all') show(0, data.lengthMs);
      else zoom(button.dataset.do === 'in' ? 0.5 : 2);
    });
  }
  addEventListener('resize', draw);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', begin);
}

function begin() {
  const names = [
    'ground',
    'card',
    'ink',
    'soft',
    'grid',
    'lane',
    'quiet',
    'kill',
    'stop',
    'freeze',
    'cut',
    'half',
    'pushes',
    'unplug',
    'pause',
    'fault',
    'worst',
  ];
  colours = Object.fromEntries(names.map((name) => [`--${name}`, style(`--${name}`)]));
  document
    .querySelectorAll('[data-client]')
    .forEach((mark) => (mark.style.background = clientColour(Number(mark.dataset.client))));
  draw();
}

layOut();
// a window in which single leases can be seen, around the worst of it
if (data.lengthMs > data.firstWindowMs) {
  const worst = data.troubles.find(([, , isWorst]) => isWorst) ?? data.troubles[0] ?? [0];
  view.from = Math.max(0, Math.min(worst[0] - data.firstWindowMs / 4, data.lengthMs - data.firstWindowMs));
  view.to = view.from + data.firstWindowMs;
}
listen();
begin();
