/** A small chart of the last minute. Its legend has the same as text: a canvas has none. */
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';

export interface Line {
  readonly name: string;
  readonly values: readonly (number | null)[];
  /** The name of a colour in page.css. */
  readonly colour: 'accent' | 'warn' | 'bad' | 'good';
  readonly show: (value: number) => string;
}

const HEIGHT = 84;

export function Chart({
  title,
  lines,
}: {
  readonly title: string;
  readonly lines: readonly Line[];
}): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | undefined>(undefined);
  const length = lines[0]?.values.length ?? 0;
  const data: UPlot.AlignedData = [
    Array.from({ length }, (_, i) => i - length + 1),
    ...lines.map(({ values }) => [...values]),
  ];
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const { current } = frame;
    if (current === null) return undefined;
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new UPlot(optionsFor(current, lines), latest.current, current);
    };
    draw();
    const resized = new ResizeObserver(() =>
      plot.current?.setSize({ width: current.clientWidth, height: HEIGHT }),
    );
    resized.observe(current);
    dark.addEventListener('change', draw);
    return () => {
      dark.removeEventListener('change', draw);
      resized.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [lines.length]);

  useEffect(() => plot.current?.setData(data));

  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        {lines.map(({ colour, name, show, values }) => (
          <span key={name} class="chart-line">
            <span class={`swatch ${colour}`} aria-hidden="true" /> {name}{' '}
            <strong>{shown(values, show)}</strong>
          </span>
        ))}
      </figcaption>
      <div ref={frame} aria-hidden="true" />
    </figure>
  );
}

/** The latest that is known. */
function shown(values: readonly (number | null)[], show: (value: number) => string): string {
  const latest = values.findLast((value) => value !== null) ?? undefined;
  return latest === undefined ? '–' : show(latest);
}

function optionsFor(frame: HTMLElement, lines: readonly Line[]): UPlot.Options {
  const style = getComputedStyle(frame);
  const colour = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const grid = { stroke: colour('line'), width: 1 };
  const axis = { stroke: colour('quiet'), font: '11px system-ui, sans-serif', ticks: { show: false }, grid };
  return {
    width: Math.max(120, frame.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    padding: [6, 12, 0, 0],
    scales: {
      x: { time: false },
      y: { range: (_plot, _least, most) => [0, Math.max(1, (most ?? 0) * 1.15)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 20,
        space: 60,
        values: (_plot, ticks) => ticks.map((s) => `${s} s`),
      },
      { ...axis, size: 38, space: 26 },
    ],
    series: [
      {},
      ...lines.map((line) => ({
        stroke: colour(line.colour),
        width: 1.5,
        spanGaps: false,
        points: { show: false },
        ...(line.colour === 'accent' ? { fill: `${colour('accent')}22` } : {}),
      })),
    ],
  };
}
