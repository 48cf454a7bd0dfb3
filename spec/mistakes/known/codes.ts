/** Mistakes in what a call ends with, and when: a minority of masters is wrong for good, and others contend (P12). */
import type { Mistake } from '../mistake.js';

export const CODES: readonly Mistake[] = [
  {
    name: 'codes: a momentary vote counts in the sum of hopelessness',
    why: 'one bad master of three, and another claimant for an instant, end a call that has seconds to wait',
    patches: [
      {
        in: 'decideClaim',
        find: 'const withoutOthers',
        replace: `if (held + lasting > spare) return misconfigured > 0 ? 'misconfigured' : 'wrongType';
  const withoutOthers`,
      },
      {
        in: 'quorum/isHopeless',
        find: "!== 'held' && outcomes.filter(isLasting).length > spareOf(outcomes)",
        replace: "=== 'wrongType' || failure === 'misconfigured'",
      },
    ],
    noticedBy: { breaks: ['codes'], seeds: { options: { wrongServers: true } } },
  },
  {
    name: 'codes: a momentary vote is blamed on masters that are wrong',
    why: 'tryAcquire throws where others hold what it wants',
    patches: [
      {
        in: 'decideClaim',
        find: 'const withoutOthers',
        replace: `if (held + lasting > spare) return misconfigured > 0 ? 'misconfigured' : 'wrongType';
  const withoutOthers`,
      },
    ],
    noticedBy: { breaks: ['codes'], seeds: { options: { wrongServers: true } } },
  },
  {
    name: 'codes: one master that is wrong for good makes it hopeless',
    why: 'beside it, another that is away for an instant ends the call',
    patches: [
      {
        in: 'quorum/isHopeless',
        find: 'outcomes.filter(isLasting).length > spareOf(outcomes)',
        replace: 'outcomes.some(isLasting)',
      },
    ],
    noticedBy: { breaks: ['codes'], seeds: { options: { wrongServers: true } } },
  },
  {
    name: 'codes: a momentary vote ends campaigns, lead and ticks',
    why: 'the same mistake, above the lock: lead() rejects for good, and jobs skip ticks',
    patches: [
      {
        in: 'decideClaim',
        find: 'const withoutOthers',
        replace: `if (held + lasting > spare) return misconfigured > 0 ? 'misconfigured' : 'wrongType';
  const withoutOthers`,
      },
      {
        in: 'quorum/isHopeless',
        find: "!== 'held' && outcomes.filter(isLasting).length > spareOf(outcomes)",
        replace: "=== 'wrongType' || failure === 'misconfigured'",
      },
    ],
    noticedBy: {
      breaks: ['codes', 'exception'],
      seeds: { of: 'coordination', options: { wrongServers: true } },
    },
  },
];
