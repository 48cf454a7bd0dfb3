import { expect } from 'chai';
import { clientColour, colourStyle, MARK_COLOURS, type Theme } from './colours.js';

const THEMES = ['light', 'dark'] as const satisfies readonly Theme[];
/** The most that a run may have. */
const MOST_CLIENTS = 100;
/** From the page's style.css. */
const CARDS = { light: '#ffffff', dark: '#151b22' } as const;

type Triple = readonly [number, number, number];

function linear(colour: string): Triple {
  const part = (at: number): number => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [part(1), part(3), part(5)];
}

/** OKLab (B. Ottosson, 2020): distances in it are about what an eye sees. */
function oklab(colour: string): Triple {
  const [r, g, b] = linear(colour);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function distance(one: string, two: string): number {
  const [a, b] = [oklab(one), oklab(two)];
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

function contrast(one: string, two: string): number {
  const luminance = (colour: string): number => {
    const [r, g, b] = linear(colour);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [light = 1, dark = 0] = [luminance(one), luminance(two)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function nearest(colours: readonly string[], others: readonly string[]): number {
  return Math.min(...colours.flatMap((one) => others.map((other) => distance(one, other))));
}

describe('chaos run: colours of the page', () => {
  for (const theme of THEMES) {
    const marks = Object.values(MARK_COLOURS[theme]);
    const clients = Array.from({ length: MOST_CLIENTS }, (_, i) => clientColour(i, theme));

    it(`${theme}: none of ${MOST_CLIENTS} clients has a fault's colour, or one that looks like it`, () => {
      expect(nearest(clients, marks)).to.be.greaterThan(0.1);
    });

    it(`${theme}: faults, and the first eight clients, can be distinguished`, () => {
      for (const some of [marks, clients.slice(0, 8)]) {
        some.forEach((one, i) =>
          expect(nearest([one], some.slice(i + 1).concat('#000000'))).to.be.above(0.05),
        );
      }
    });

    it(`${theme}: a fault's name can be read on its bar, and a client's bar stands out from the card`, () => {
      for (const mark of marks) expect(contrast(mark, CARDS[theme]), mark).to.be.at.least(4.5);
      for (const client of clients) expect(contrast(client, CARDS[theme]), client).to.be.at.least(1.8);
    });
  }

  it('the page gets one of each for both themes', () => {
    const style = colourStyle(2);
    expect(style.match(/--client-1:#[\da-f]{6}/g)).to.have.length(2);
    expect(style.match(/--kill:#[\da-f]{6}/g)).to.have.length(2);
    expect(style).to.include('prefers-color-scheme:dark');
  });
});
