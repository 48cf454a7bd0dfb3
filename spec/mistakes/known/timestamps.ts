/** Mistakes of timestamp locks. */
import type { Mistake } from '../mistake.js';

export const TIMESTAMPS: readonly Mistake[] = [
  {
    name: 'timestamp: an expired lock deleted and set again',
    why: 'the second of two that saw it expired deletes what the first one has set',
    patches: [
      {
        in: 'byCommands',
        find: "const text = await server.send('getset', key, String(second))",
        replace: `await server.send('del', key);
    const text = (await server.send('setnx', key, String(second))) === 1 ? null : String(second)`,
      },
    ],
    noticedBy: { breaks: ['exclusion'], seeds: { of: 'timestamps', from: 30 } },
  },
  {
    name: 'timestamp: what GETSET replaced is not looked at',
    why: 'all who saw it expired believe that they hold it',
    patches: [{ in: 'byCommands', find: 'before < expiredBelow', replace: 'before < Infinity' }],
    noticedBy: { breaks: ['exclusion'], seeds: { of: 'timestamps', from: 10 } },
  },
  {
    name: 'timestamp: release without owner check',
    why: "a late release deletes another's lock",
    patches: [
      {
        in: 'byCommands',
        find: `|| !isWithin(seen, ownRange(own, agreement))) return;
    if (isLive()) await`,
        replace: `) return;
    await`,
      },
      {
        in: 'TimestampLease.release',
        find: `this.check();
    if (this.isHeld)`,
        replace: 'if (this.isHeld || this.isLost)',
      },
    ],
    noticedBy: { breaks: ['exclusion'], seeds: { of: 'timestamps' } },
  },
  {
    name: 'timestamp: no margin for clocks that are apart',
    why: 'one whose clock is ahead takes over what is still held',
    patches: [
      { in: 'expiredBelow', find: '(wallMs - marginMs)', replace: 'wallMs' },
      { in: 'TimestampLease.constructor', find: 'ttlMs - keeper.options.clockMarginMs', replace: 'ttlMs' },
      { in: 'liveForMs', find: 'marginMs - wallMs', replace: 'wallMs' },
    ],
    noticedBy: { breaks: ['exclusion'], seeds: { of: 'timestamps' } },
  },
  {
    name: "timestamp: all up to an unanswered extension is one's own",
    why: "another's lock that was taken in between is deleted by a late release",
    patches: [{ in: 'ownRange', find: 'Math.min(own.to + off, last)', replace: 'own.to + off' }],
    noticedBy: { breaks: ['exclusion'], seeds: { of: 'timestamps', from: 229, options: { heldBack: true } } },
  },
  {
    name: 'script timestamp claim: whatever is there has run out',
    why: 'the claimant believes that it holds what another holds',
    patches: [
      {
        in: 'lua:timestamp-claim.lua',
        find: 'if instant >= tonumber(ARGV[2]) then return {2, text} end',
        replace: '',
      },
    ],
    noticedBy: { breaks: ['exclusion'], seeds: { of: 'timestamps' } },
  },
  {
    name: 'script timestamp release: whosever it is',
    why: "a late release deletes another's lock",
    patches: [
      {
        in: 'lua:owning.lua',
        find: 'if not instant or instant < tonumber(ARGV[1]) or instant > tonumber(ARGV[2]) then',
        replace: 'if not instant then',
      },
    ],
    noticedBy: { breaks: ['exclusion'], seeds: { of: 'timestamps', from: 45 } },
  },
  {
    name: 'script timestamp extend: says so and does nothing',
    why: 'the key runs out under a holder that believes in it',
    patches: [
      {
        in: 'lua:timestamp-extend.lua',
        find: 'if instant < tonumber(ARGV[3]) then',
        replace: 'if instant < 0 then',
      },
    ],
    noticedBy: { breaks: ['exclusion'], seeds: { from: 6, of: 'timestamps' } },
  },
];
