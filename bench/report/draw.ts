/**
 * Draws a chart as SVG. Apache ECharts does so without a browser; chart-option.ts has what it is given. The same
 * chart gives the same bytes, so that a diff of the published pictures shows what changed and nothing else.
 */
import { init } from 'echarts';
import { isFigure } from './axis.js';
import type { Chart, Theme } from './chart.js';
import { chartOption, FONT, heightOf, WIDTH } from './chart-option.js';

export function drawChart(chart: Chart, theme: Theme): string {
  const height = heightOf(chart);
  const drawing = init(null, null, { renderer: 'svg', ssr: true, width: WIDTH, height });
  try {
    drawing.setOption(chartOption(chart, theme));
    return withWords(still(drawing.renderToSVGString()), chart);
  } finally {
    drawing.dispose();
  }
}

/** Without what is for the mouse, whose names count up from drawing to drawing; the font is named once, at the top. */
function still(svg: string): string {
  return svg
    .replace(/<style\b[\s\S]*?<\/style>\s*/g, '')
    .replaceAll(/ (?:class|ecmeta_\w+|pointer-events|xml:space)="[^"]*"/g, '')
    .replaceAll(`font-family:${FONT};`, '');
}

/** A title and a description, for those who do not see the picture. */
function withWords(svg: string, chart: Chart): string {
  const { name, title, subtitle } = chart;
  const words = `role="img" aria-labelledby="${name}-title ${name}-desc" font-family="${FONT}"`;
  return [
    svg.slice(0, svg.indexOf('>')).replace(/^<svg/, `<svg ${words}`) + '>',
    `<title id="${name}-title">${escape(`${title}. ${subtitle}`)}</title>`,
    `<desc id="${name}-desc">${escape(describe(chart))}</desc>`,
    svg.slice(svg.indexOf('>') + 1).trim(),
    '',
  ].join('\n');
}

/** The figures of the picture, panel by panel. */
function describe({ rows, panels }: Chart): string {
  return panels
    .map(({ title, unit, cells }) => {
      const figures = rows.flatMap(({ label }, i) => {
        const cell = cells[i];
        if (cell === undefined) return [];
        return `${label}: ${isFigure(cell) ? cell.text : cell.trouble}`;
      });
      return `${title} (${unit}). ${figures.join('; ')}.`;
    })
    .join(' ');
}

function escape(content: string): string {
  return content
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
