/** Mistakes of locks that several may hold, and of re-entry. */
import type { Mistake } from '../mistake.js';

export const SHARED_LOCKS: readonly Mistake[] = [
  {
    name: 'semaphore: holders counted at each master by itself',
    why: 'of three masters with two places each, three holders get two masters each',
    patches: [
      {
        in: 'Round.#isAgreed',
        find: '!this.request.takesPermits || this.slots !== undefined',
        replace: 'true',
      },
    ],
    noticedBy: {
      breaks: ['permits'],
      seeds: { from: 4, options: { sharedLocks: true, nodes: 3, clients: 4 } },
    },
  },
  {
    name: 'semaphore: a set of permits is agreed on while another is put to the masters',
    why: 'a master that had given the first is about to give it up',
    patches: [
      { in: 'Round.#noteSlots', find: 'if ((this.#alignedOn ?? slots) !== slots) return;', replace: '' },
      {
        in: 'PermitAgreement.proceed',
        find: 'if (this.#mayAgree(sets.filter((set) => set === slots).length)) return;',
        replace: '',
      },
    ],
    noticedBy: {
      breaks: ['permits'],
      seeds: { from: 469, options: { sharedLocks: true, favoured: ['slow link', 'connection cut'] } },
    },
  },
  {
    name: 'semaphore: permits settled on without giving the others up',
    why: 'what was given before stays taken, at a master where nobody counts on it',
    patches: [
      {
        in: 'lua:alignPermits',
        find: 'else put(token, text, own[2], k) end',
        replace: "else put(token, text .. ',' .. own[1], own[2], k) end",
      },
    ],
    noticedBy: {
      breaks: ['permits', 'progress'],
      seeds: { from: 37, options: { sharedLocks: true, clients: 4 } },
    },
  },
  {
    name: 'readers ask for one vote less than a quorum',
    why: 'the votes of a reader and of a writer need not meet at any master',
    patches: [
      {
        in: 'Round.#proceed',
        find: 'this.#decide',
        replace: 'this.isEnoughToRead ? "granted" : this.#decide',
      },
      {
        in: 'Round.decision',
        find: 'return operation',
        replace: 'return this.isEnoughToRead ? "granted" : operation',
      },
      {
        in: 'Round.isWanted',
        find: 'get',
        replace: `get isEnoughToRead(): boolean {
    return this.request.scope.kind.name === 'read' && this.granted >= quorumOf(this.#nodes.length) - 1;
  }
  get`,
      },
    ],
    noticedBy: {
      breaks: ['exclusion'],
      seeds: { options: { sharedLocks: true, nodes: 3, clients: 4 } },
      world: { world: 'readers-3', schedule: '0:next' },
    },
  },
  {
    name: 'readers share one ttl',
    why: 'a reader that is gone stays for as long as others hold the lock',
    patches: [
      {
        in: 'lua:read',
        find: 'elseif ends <= now then',
        replace: 'elseif ends < 0 then',
      },
      {
        in: 'lua:read',
        find: 'holders[name] = {first, ends, k, tonumber(serial), tonumber(ticket)}',
        replace: "holders[name] = {first, now + math.max(1, redis.call('PTTL', KEYS[i])), k}",
      },
    ],
    noticedBy: { breaks: ['progress', 'orphan'], seeds: { options: { sharedLocks: true } } },
  },
  {
    name: 'a writer becomes a reader only when the masters have said so',
    why: 'some of them let readers in already, and no quorum need have answered',
    patches: [
      {
        in: 'WriteLease.mode',
        find: "this.#grant.kind.name === 'write' ? 'write' : 'read'",
        replace: "this.#isReader ? 'read' : 'write'",
      },
      {
        in: 'WriteLease.downgrade',
        find: 'this.extend();',
        replace: 'this.extend(); this.#isReader = true;',
      },
      { in: 'WriteLease.#grant', find: ';', replace: '; #isReader = false;' },
    ],
    noticedBy: {
      breaks: ['exclusion'],
      seeds: {
        from: 190,
        options: { sharedLocks: true, favoured: ['slow link', 'partition', 'client paused'] },
      },
      world: { world: 'readers-2', schedule: '13:late' },
    },
  },
  {
    name: "a re-entry that extends what may be another one's by now",
    why: 'the client takes its own word for it that the lock is still its own',
    patches: [
      { in: 'Hold.enter', find: 'lease.assertHeld', replace: 'lease.prolong' },
      {
        in: 'LeaseMachine.assertHeld',
        find: 'assertHeld',
        replace: `revive(): void {
    this.#state = HELD;
  }

  assertHeld`,
      },
      {
        in: 'Lease.giveAway',
        find: 'giveAway(): LeaseHandle',
        replace: `prolong(): void {
    this.#grant.prolong(this.#parts.clock.now() + this.ttlMs);
    this.revive();
  }

  giveAway(): LeaseHandle`,
      },
    ],
    noticedBy: {
      breaks: ['exclusion', 'continuity'],
      seeds: { options: { sharedLocks: true, favoured: ['client paused', 'client suspended'] } },
      world: { world: 're-entry-2', schedule: '19:pause' },
    },
  },
  {
    name: 'settlement: other permits can be agreed on while some are put to masters',
    patches: [{ in: 'PermitAgreement.proceed', find: 'this.#round.alignOn(slots);', replace: '' }],
    noticedBy: { specs: ['spec/locks/lockable.spec.ts'] },
  },
  {
    name: 'settlement: when time is up, others than the permits that are put to masters count',
    patches: [{ in: 'Round.#dropUnagreed', find: 'this.#alignedOn ?? this.#slots', replace: 'this.#slots' }],
    noticedBy: { specs: ['spec/locks/lockable.spec.ts'] },
  },
  {
    name: 'settlement: what was not sent outlives the attempt',
    patches: [
      { in: 'PermitAgreement.end', find: 'for (const node of this.#nodes) node.forget(this);', replace: '' },
    ],
    noticedBy: { specs: ['spec/locks/lockable.spec.ts'] },
  },
];
