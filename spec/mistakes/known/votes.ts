/** Mistakes of how votes are asked for, counted and given back. */
import type { Mistake } from '../mistake.js';

export const VOTES: readonly Mistake[] = [
  {
    name: 'token reuse over attempts',
    why: 'a late undo of one attempt deletes the vote of the next',
    patches: [
      {
        in: 'SeededRandom.token',
        find: 'return tokenFrom(this.#client, String(++this.#drawn))',
        replace: "this.#drawn++; return tokenFrom(this.#client, 'always')",
      },
    ],
    noticedBy: {
      breaks: ['exclusion', 'token order', 'token uniqueness'],
      seeds: { options: { favoured: ['connection cut', 'client paused'] } },
      world: { world: 'acquire-1', schedule: '0:torn' },
    },
  },
  {
    name: 'no undo of unknown outcomes',
    why: 'a vote whose reply was lost blocks its master until the ttl is over',
    patches: [
      {
        in: 'undoingOf',
        find: 'round.hasVoted(node) || !isExplained(round.outcomes[node.index])',
        replace: "round.outcomes[node.index]?.kind !== 'unknown'",
      },
    ],
    noticedBy: {
      breaks: ['orphan'],
      seeds: { from: 30, options: { favoured: ['partition', 'slow link'] } },
      world: { world: 'undo-2', schedule: '4:cut' },
    },
  },
  {
    name: 'undo only where yes was answered',
    why: 'the same, for silence and for quarantine',
    patches: [
      {
        in: 'undoingOf',
        find: 'round.hasVoted(node) || !isExplained(round.outcomes[node.index])',
        replace: "round.outcomes[node.index]?.kind === 'granted'",
      },
    ],
    noticedBy: {
      breaks: ['orphan'],
      seeds: { from: 25, options: { favoured: ['partition', 'slow link'] } },
      world: { world: 'undo-2', schedule: '4:cut' },
    },
  },
  {
    name: 'validity measured from the reply',
    why: 'the masters count from the arrival of the claim',
    patches: [
      {
        in: 'Acquisition.#accept',
        find: 'const untilMs = validUntilMs(round.sentAtMs, ttlMs, driftFactor)',
        replace: 'const untilMs = validUntilMs(clock.now(), ttlMs, driftFactor)',
      },
    ],
    noticedBy: {
      breaks: ['exclusion'],
      seeds: { from: 96, options: { favoured: ['client paused', 'slow link'] } },
      world: { world: 'expiry-1', schedule: '2:next' },
    },
  },
  {
    name: 'no validity check',
    why: 'a quorum that comes after the ttl is taken for a lock',
    patches: [
      { in: 'Acquisition.#accept', find: 'if (untilMs <= nowMs) return undefined;', replace: '' },
      {
        in: 'Acquisition.#accept',
        find: 'sentTo, untilMs)',
        replace: 'sentTo, Math.max(untilMs, nowMs + ttlMs / 2))',
      },
    ],
    noticedBy: {
      breaks: ['exclusion'],
      seeds: { from: 538, options: { favoured: ['client paused', 'client suspended'], fair: false } },
      world: { world: 'acquire-1', schedule: '2:pause' },
    },
  },
  {
    name: 'no drift',
    why: 'a master whose clock is fast lets go before the holder does',
    patches: [
      {
        in: 'validUntilMs',
        find: 'Math.floor(sentAtMs + ttlMs - driftMs(ttlMs, driftFactor))',
        replace: 'sentAtMs + ttlMs',
      },
    ],
    noticedBy: {
      breaks: ['exclusion'],
      seeds: { from: 115, options: { nodes: 1, clients: 4, guarded: false, fair: false } },
      world: { world: 'drift-1', schedule: 'usual' },
    },
  },
  {
    name: 'late extension accepted',
    why: 'another holder may have come and gone in between',
    patches: [
      { in: 'Extensions.#prolong', find: 'grant.validUntilMs || nowMs >= untilMs', replace: 'untilMs' },
      {
        in: 'Extensions.#extendNow',
        find: 'Math.min(nodeTimeoutMs, Math.max(leftMs, 0))',
        replace: 'nodeTimeoutMs + 0 * leftMs',
      },
    ],
    noticedBy: {
      breaks: ['continuity', 'exclusion'],
      seeds: { from: 552, options: { favoured: ['client paused', 'slow link'] } },
      world: { world: 'extend-2', schedule: '2:stop' },
    },
  },
  {
    name: 'renewed together: an answer about all of them counts for each',
    why: 'who was refused believes in a lease that others hold by now',
    patches: [{ in: 'RenewalBatch.onReply', find: "if (outcome?.kind !== 'granted') return;", replace: '' }],
    noticedBy: { specs: ['spec/quorum/renewal-batch.spec.ts'] }, // about one seed in a hundred shows it, of two seconds each
  },
  {
    name: 'extension that shortens, at the masters',
    why: 'the masters let go before the holder does',
    patches: [
      {
        in: 'lua:extend',
        find: 'elseif ms ~= -1 and ms < tonumber(ttl) then',
        replace: 'else',
      },
      {
        in: 'lua:extendMany',
        find: 'if ms ~= -1 and ms < tonumber(ttl) then redis.call',
        replace: 'if ms ~= -1 then redis.call',
      },
    ],
    noticedBy: {
      breaks: ['exclusion'],
      seeds: { from: 21, options: { guarded: false } },
      world: { world: 'extend-2', schedule: 'usual' },
    },
  },
  {
    name: 'extension that shortens, at the holder',
    why: 'what was promised is taken back',
    patches: [
      { in: 'Grant.prolong', find: 'Math.max(this.#validUntilMs, validUntilMs)', replace: 'validUntilMs' },
    ],
    noticedBy: { breaks: ['continuity'], seeds: {}, world: { world: 'extend-2', schedule: 'usual' } },
  },
  {
    name: 'even-N tie left pending',
    why: 'half the votes are taken for a round that can still be won',
    patches: [
      { in: 'Round.#proceed', find: 'if (this.#answered === this.#asked) this.#settle?.();', replace: '' },
      {
        in: 'decideClaim',
        find: `held > spare) return 'held';
  if (granted`,
        replace: `held > spare && held !== granted) return 'held';
  if (held === granted && pending === 0) return undefined;
  if (granted`,
      },
      { in: 'Acquisition.#claim', find: 'deadline(nodeTimeoutMs,', replace: 'deadline(nodeTimeoutMs * 50,' },
    ],
    noticedBy: {
      breaks: ['settling', 'progress'],
      seeds: { options: { nodes: 4, clients: 4, guarded: false } },
      world: { world: 'acquire-2', schedule: 'usual' },
    },
  },
  {
    name: 'undo by a two-step script call',
    why: 'to a master whose scripts were flushed, the undo that matters does not follow its claim',
    patches: [
      {
        in: 'protocol/UNDOING',
        find: `const { args } = command(UNDO, namedKeys(request), request.token, NONE);
    return { name: 'eval', args: [UNDO.source, ...args.slice(1)] }`,
        replace: 'return command(UNDO, namedKeys(request), request.token, NONE)',
      },
      {
        in: 'UNDOING_QUEUED',
        find: `const { args } = command(UNDO, namedKeys(request), request.token, QUEUED.head(request));
    return { name: 'eval', args: [UNDO.source, ...args.slice(1)] }`,
        replace: 'return command(UNDO, namedKeys(request), request.token, QUEUED.head(request))',
      },
      { in: 'Request.isWhole', find: 'this.operation.isUndo', replace: 'false' },
    ],
    noticedBy: {
      breaks: ['orphan'],
      seeds: { from: 200, options: { favoured: ['server stopped', 'scripts flushed'] } },
    },
  },
  {
    name: 'replies of a batch given to the wrong entries',
    why: 'one claim takes the grant of another',
    patches: [{ in: 'eachReply', find: 'replies[i]', replace: 'replies[replies.length - 1 - i]' }],
    noticedBy: {
      breaks: [
        'exclusion',
        'token uniqueness',
        'token order',
        'counter order',
        'orphan',
        'exception',
        'progress',
      ],
      seeds: { from: 13 },
      world: { world: 'batch-2', schedule: 'usual' },
    },
  },
  {
    name: 'release that is not repeated',
    why: 'a master that was away keeps the vote until its ttl is over',
    patches: [{ in: 'Repairs.add', find: 'this.#isClosed', replace: 'this.#isClosed || node !== undefined' }],
    noticedBy: {
      breaks: ['orphan'],
      seeds: { from: 69, options: { favoured: ['partition', 'connection cut'] } },
      world: { world: 'undo-2', schedule: '4:cut' },
    },
  },
];
