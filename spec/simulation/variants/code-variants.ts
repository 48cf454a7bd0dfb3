/** Known mistakes in what a call ends with, and when: a minority of masters is wrong for good, and others contend (P12). */
import type { Patch, Variant } from './variants.js';

const WRONG_MASTERS = { wrongServers: true } as const;

const ADDED: Patch = {
  file: 'lib/protocol/quorum.ts',
  find: '  const withoutOthers = lasting',
  replace:
    "  if (held + lasting > spare) return misconfigured > 0 ? 'misconfigured' : 'wrongType';\n  const withoutOthers = lasting",
};
const HOPELESS = {
  file: 'lib/quorum/failure.ts',
  find: "failure !== 'held' && outcomes.filter(isLasting).length > spareOf(outcomes)",
} as const;

export const CODE_VARIANTS: readonly Variant[] = [
  {
    name: 'codes: a momentary vote counts in the sum of hopelessness',
    why: 'one bad master of three, and another claimant for an instant, end a call that has seconds to wait',
    breaks: ['codes'],
    options: WRONG_MASTERS,
    patches: [ADDED, { ...HOPELESS, replace: "failure === 'wrongType' || failure === 'misconfigured'" }],
  },
  {
    name: 'codes: a momentary vote is blamed on masters that are wrong',
    why: 'tryAcquire throws where others hold what it wants',
    breaks: ['codes'],
    options: WRONG_MASTERS,
    patches: [ADDED],
  },
  {
    name: 'codes: one master that is wrong for good makes it hopeless',
    why: 'beside it, another that is away for an instant ends the call',
    breaks: ['codes'],
    options: WRONG_MASTERS,
    patches: [{ ...HOPELESS, replace: "failure !== 'held' && outcomes.some(isLasting)" }],
  },
  {
    name: 'codes: a momentary vote ends campaigns, lead and ticks',
    why: 'the same mistake, above the lock: lead() rejects for good, and jobs skip ticks',
    breaks: ['codes', 'exception'],
    of: 'coordination',
    options: WRONG_MASTERS,
    patches: [ADDED, { ...HOPELESS, replace: "failure === 'wrongType' || failure === 'misconfigured'" }],
  },
];
