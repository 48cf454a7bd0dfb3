/** Colours of the pictures, on light and on dark pages. */
import type { Theme } from './chart.js';

// the colours of Okabe and Ito, which people with any kind of colour blindness can tell apart
export const COLOURS = {
  light: {
    paper: '#ffffff',
    ink: '#1f2328',
    faint: '#59636e',
    grid: '#d8dee4',
    own: '#0072b2',
    floor: '#6e7781',
    peer: '#d55e00',
  },
  dark: {
    paper: '#0d1117',
    ink: '#f0f6fc',
    faint: '#9198a1',
    grid: '#2d333b',
    own: '#56b4e9',
    floor: '#9aa4af',
    peer: '#e69f00',
  },
} as const satisfies Readonly<Record<Theme, Readonly<Record<string, string>>>>;

export type Colours = (typeof COLOURS)[Theme];
