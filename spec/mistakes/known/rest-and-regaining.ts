/** Mistakes of votes at rest (protocol C3a), and of regaining votes. */
import type { Mistake } from '../mistake.js';

export const REST_AND_REGAINING: readonly Mistake[] = [
  {
    name: 'rest: nobody asks',
    why: 'a waiter keeps the vote of a master that came back, for as long as it waits',
    patches: [
      {
        in: 'lua:extend',
        find: "if create ~= '0' and ask(i, owner) then asked = 2 end",
        replace: '',
      },
    ],
    noticedBy: { breaks: ['erosion'], seeds: { of: 'service' } },
  },
  {
    name: 'rest: yielded to the next waiter',
    why: 'the vote is handed over as by any yield, and the holder does not get it',
    patches: [{ in: 'QueueWait.#yield', find: 'serial === place.rested', replace: 'false' }],
    noticedBy: { breaks: ['erosion'], seeds: { of: 'service' } },
  },
  {
    name: 'regain: a master that does not know the script is left out',
    why: 'renewals that share a call pass by a master that was started again',
    patches: [
      {
        in: 'RenewalBatch.onFailure',
        find: '(isUnknownScript(cause))',
        replace: '(isUnknownScript(cause) && false)',
      },
    ],
    noticedBy: { specs: ['spec/quorum/renewal-batch.spec.ts'] },
  },
  {
    name: 'regain: a pause is dropped again by the end of its lease',
    why: 'the end sets aside what is open, the pause says that the extension failed, and that ends the lease: on and on',
    patches: [{ in: 'Pause.drop', find: 'if (this.#isDropped) return;', replace: '' }],
    noticedBy: { specs: ['spec/lease/extension.spec.ts'] },
  },
  {
    name: 'regain: a new lease waits for its first renewal',
    why: 'a lease that lacks a vote from the start lives on a bare quorum for a third of its ttl',
    patches: [
      {
        in: 'DueRenewal.constructor',
        find: 'isWhole ? firstAtMs : Math.min(firstAtMs, nowMs + RENEW_PARTIAL_MS)',
        replace: 'firstAtMs + 0 * nowMs',
      },
    ],
    noticedBy: { breaks: ['erosion'], seeds: { of: 'service', from: 73 } },
  },
  {
    name: 'rest: extensions take votes that were handed over to others',
    patches: [
      {
        in: 'lua:extend',
        find: "if owner == AT_REST and create ~= '0' then owner = false end",
        replace:
          "if owner and create ~= '0' and (owner == AT_REST or string.sub(owner, -1) == '+') then owner = false end",
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/rest-scripts.spec.ts'] },
  },
  {
    name: 'rest: an adoption counts a key at rest',
    patches: [
      {
        in: 'lua:extend',
        find: "if owner == AT_REST and create ~= '0' then",
        replace: "if owner == AT_REST then create, owner = '1', false",
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/rest-scripts.spec.ts'] },
  },
  {
    name: 'rest: one that may not create asks',
    patches: [
      {
        in: 'lua:extend',
        find: "if create ~= '0' and ask(i, owner) then asked = 2 end",
        replace: 'if ask(i, owner) then asked = 2 end',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/rest-scripts.spec.ts'] },
  },
  {
    name: 'rest: claimed votes are asked for',
    patches: [
      {
        in: 'lua:ask',
        find: 'if not other or not isOurs(owner) then return false end',
        replace: 'other = other or owner',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/rest-scripts.spec.ts'] },
  },
  {
    name: 'rest: looks take the key',
    patches: [
      {
        in: 'lua:queue',
        find: 'local us = clockOf(own)',
        replace: 'if owner == AT_REST then owner = false end\n  local us = clockOf(own)',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/rest-scripts.spec.ts'] },
  },
  {
    name: 'rest: a foreign client for looks',
    patches: [
      {
        in: 'lua:refuseLook',
        find: 'if owner ~= AT_REST and not',
        replace: 'if not',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/rest-scripts.spec.ts'] },
  },
  {
    name: 'rest: without end',
    patches: [
      {
        in: 'lua:yield',
        find: "AT_REST, 'PX', REST_MS).err",
        replace: 'AT_REST).err',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/rest-scripts.spec.ts'] },
  },
  {
    name: 'rest: the vote goes after the rest',
    patches: [
      {
        in: 'lua:yield',
        find: "redis.call('DEL', KEYS[k])\n  local isAtRest",
        replace: 'local isAtRest',
      },
    ],
    noticedBy: { specs: ['spec/protocol/lua/rest-scripts.spec.ts'] },
  },
  {
    name: 'rest: given although a quorum is its own',
    patches: [
      {
        in: 'QueueWait.#restIfAsked',
        find: "'mine' || this.#count('mine') >= this.#quorum",
        replace: "'mine'",
      },
    ],
    noticedBy: { specs: ['spec/queue/queue-wait-votes.spec.ts'] },
  },
  {
    name: 'rest: what was asked too early is forgotten',
    patches: [{ in: 'QueueWait.#take', find: 'this.#restIfAsked(node);', replace: '' }],
    noticedBy: { specs: ['spec/queue/queue-wait-votes.spec.ts'] },
  },
  {
    name: 'rest: what was asked is remembered for ever',
    patches: [
      {
        in: 'QueueWait.#restIfAsked',
        find: 'this.#parts.clock.earliest() - place.askedAtMs < REST_MS',
        replace: 'place.askedAtMs > -Infinity',
      },
    ],
    noticedBy: { specs: ['spec/queue/queue-wait-votes.spec.ts'] },
  },
  {
    name: 'rest: a yield that was lost is sent again without its rest',
    patches: [
      { in: 'QueueWait.#yield', find: 'place.rested', replace: 'place.rested && place.yielded < serial' },
    ],
    noticedBy: { specs: ['spec/queue/queue-wait-votes.spec.ts'] },
  },
  {
    name: 'regain: not before the next renewal',
    patches: [{ in: 'coordinator/PAUSES_MS', find: '50, 200, 550', replace: '' }],
    noticedBy: { specs: ['spec/coordinator/regaining.spec.ts'] },
  },
  {
    name: 'regain: a refusal by a few waiters loses the lease',
    patches: [{ in: 'isRefusedByWaiters', find: 'quorumOf(masters)', replace: '0' }],
    noticedBy: { specs: ['spec/coordinator/regaining.spec.ts'] },
  },
  {
    name: 'an extension that half of the masters refuse loses the lease',
    why: 'with an even N, a claim that is about to be undone ends a lease that is valid',
    patches: [{ in: 'decideExtension', find: 'mayCreate ? quorum : spare + 1', replace: 'spare + 1' }],
    noticedBy: {
      breaks: ['erosion'],
      seeds: { of: 'service', from: 310 },
      specs: ['spec/protocol/quorum.spec.ts'],
    },
  },
  {
    name: 'regain: a waiter with a quorum loses the lease late',
    patches: [
      { in: 'isRefusedByWaiters', find: 'isAsked && round.held < quorumOf(masters)', replace: 'isAsked' },
    ],
    noticedBy: { specs: ['spec/coordinator/regaining.spec.ts'] },
  },
  {
    name: 'regain: a release is followed by an extension',
    patches: [{ in: 'Pause.drop', find: 'this.timer?.cancel();', replace: '' }],
    noticedBy: { specs: ['spec/coordinator/regaining.spec.ts'] },
  },
  {
    name: 'regain: without a quorum, all masters are asked at the next renewal',
    patches: [
      { in: 'Extensions.#extendNow', find: 'if (isGranted || !this.#extendsAgain(one, round))', replace: '' },
    ],
    noticedBy: { specs: ['spec/coordinator/regaining.spec.ts'] },
  },
];
