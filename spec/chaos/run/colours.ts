/**
 * The colours of the page. Faults are red (a process is gone), grey (it stands still), amber, brown and olive (the network)
 * or rose and yellow (a clock, memory); clients are green, blue, violet and pink. So no client has a fault's colour, on light pages and on dark ones.
 */
import type { FaultKind } from './history.js';

export type Theme = 'light' | 'dark';
export type Mark =
  'kill' | 'stop' | 'freeze' | 'pause' | 'cut' | 'half' | 'pushes' | 'unplug' | 'delay' | 'full' | 'clock';

/** Names are written on them in the colour of the card: white, or nearly black on dark pages. */
export const MARK_COLOURS: Readonly<Record<Theme, Readonly<Record<Mark, string>>>> = {
  light: {
    kill: '#c9301c',
    stop: '#7d1d10',
    freeze: '#4a4642',
    pause: '#766f69',
    cut: '#7a5c1e',
    half: '#b85a00',
    pushes: '#4f5206',
    unplug: '#2c2117',
    delay: '#9a4260',
    full: '#570a30',
    clock: '#df0c75',
  },
  dark: {
    kill: '#ff7563',
    stop: '#c98b80',
    freeze: '#cdc3b8',
    pause: '#949494',
    cut: '#d9a400',
    half: '#ff9c3d',
    pushes: '#dcd98a',
    unplug: '#fbf6ee',
    delay: '#798f00',
    full: '#ffff0a',
    clock: '#ff1a8c',
  },
};

export const MARKS: Readonly<Record<FaultKind, Mark>> = {
  kill: 'kill',
  stop: 'stop',
  freeze: 'freeze',
  cut: 'cut',
  'cut-to-master': 'half',
  'cut-to-client': 'half',
  'cut-pushes': 'pushes',
  unplug: 'unplug',
  'half-open': 'half',
  delay: 'delay',
  full: 'full',
  'clock-back': 'clock',
  'clock-slew': 'clock',
  pause: 'pause',
  starve: 'pause',
  crash: 'kill',
};

const FIRST_HUE = 140;
const LAST_HUE = 312;
const GOLDEN = 0.618034;
/** Shades for one round of hues, so that neighbours differ in more than their hue. */
const SHADES: Readonly<Record<Theme, readonly (readonly [saturation: number, lightness: number])[]>> = {
  light: [
    [0.7, 0.41],
    [0.85, 0.31],
    [0.55, 0.54],
  ],
  dark: [
    [0.8, 0.67],
    [0.7, 0.5],
    [1, 0.8],
  ],
};

/** @returns the colour of the client with this number, from 0 on */
export function clientColour(client: number, theme: Theme): string {
  const hue = FIRST_HUE + ((0.37 + client * GOLDEN) % 1) * (LAST_HUE - FIRST_HUE);
  const [saturation = 0, lightness = 0] = SHADES[theme][client % SHADES[theme].length] ?? [];
  return hex(hue, saturation, lightness);
}

/** As custom properties of the page: `--kill` and the others, `--client-0` and so on. */
export function colourStyle(clients: number): string {
  const block = (theme: Theme): string => {
    const marks = Object.entries(MARK_COLOURS[theme]).map(([mark, colour]) => `--${mark}:${colour}`);
    const own = Array.from({ length: clients }, (_, i) => `--client-${i}:${clientColour(i, theme)}`);
    return `:root{${[...marks, ...own].join(';')}}`;
  };
  return `${block('light')}\n@media (prefers-color-scheme:dark){${block('dark')}}`;
}

function hex(hue: number, saturation: number, lightness: number): string {
  const reach = saturation * Math.min(lightness, 1 - lightness);
  const part = (offset: number): string => {
    const at = (offset + hue / 30) % 12;
    const value = lightness - reach * Math.max(-1, Math.min(at - 3, 9 - at, 1));
    return Math.round(value * 255)
      .toString(16)
      .padStart(2, '0');
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}
