import type { Survivors } from './survivors.js';

export const QUORUM: Survivors = {
  'lib/protocol/replies.ts': [
    {
      why: 'only quicker: a plain yes is no array that begins with another code',
      mutants: [
        'orTaken: reply !== YES && integers(reply, 3)[0] === TAKEN_AWAY → integers(reply, 3)[0] === TAKEN_AWAY',
      ],
    },
    {
      why: 'for the types: so many integers are there, or none of them, and then there is no code either',
      mutants: [
        'readFenced: amount === undefined || amount < 1 → amount < 1',
        'readFenced: more ?? 0 → more',
        'readQueueReply: amount === undefined || clockUs === undefined → amount === undefined',
        'readQueueReply: amount === undefined || clockUs === undefined → clockUs === undefined',
        'readQueueReply: fence === undefined || sentMs === undefined → fence === undefined',
        'readQueueReply: fence === undefined || sentMs === undefined → sentMs === undefined',
        'readPermits: code === 5 && more !== undefined → code === 5',
        'readAcceptance: code === 1 && amount !== undefined → code === 1',
        'readUndo: deleted === undefined || ms === undefined → deleted === undefined',
        'readUndo: deleted === undefined || ms === undefined → ms === undefined',
        'refusedFor: ms === undefined || ms === -2 → ms === -2',
      ],
    },
    {
      why: 'no number is above or below undefined',
      mutants: [
        'readFenced: toInteger(reply) ?? 0 → toInteger(reply)',
        'isToRepeat: toInteger(reply) ?? 0 → toInteger(reply)',
      ],
    },
    {
      why: 'a short cut: the usual reply is read the long way, to the same end',
      mutants: [
        'readVote: reply === YES → false',
        'integers: reply.length === count && reply.every(Number.isSafeInteger) → false',
      ],
    },
    {
      why: 'what has a code is an array',
      mutants: ['readPermits: Array.isArray(reply) → true'],
    },
  ],
  'lib/protocol/queue-request.ts': [
    {
      why: 'what is given back says nothing of fencing: the command is the same, in a batch among others of its like',
      mutants: ['WITHOUT_MARKER: false → true'],
    },
  ],
  'lib/protocol/pushes.ts': [
    {
      why: 'for the types: a text of this form has a token, a key and one of the two lists of numbers, and a vote has four',
      mutants: [
        'readPush: token === undefined || key === undefined → token === undefined',
        'readPush: token === undefined || key === undefined → key === undefined',
        "readPush: vote ?? digits ?? '' → vote ?? digits",
        'readPush: serial === undefined || numbers.includes(undefined) → numbers.includes(undefined)',
        'readPush: sentMs === undefined || fence === undefined → sentMs === undefined',
        'readPush: sentMs === undefined || fence === undefined → fence === undefined',
      ],
    },
  ],
  'lib/protocol/note-requests.ts': [
    {
      why: 'a place without a marker has a guard period of 0',
      mutants: ['noteReading: marker === undefined → false (2)'],
    },
    {
      why: 'for the types: where one of them is no number, there is none',
      mutants: ['readNote: number ?? 0 → number'],
    },
    {
      why: 'requests about notes, and a release, neither claim nor propose anything: nobody asks whether they are fenced',
      mutants: ['scopeOf: false → true'],
    },
  ],
  'lib/protocol/node-timeout.ts': [
    {
      why: 'masters that are all fast enough need no sorting, which would tell the same',
      mutants: [
        'nodeTimeoutOf: patienceOf(master) <= leastMs → false',
        'nodeTimeoutOf: patienceOf(master) <= leastMs → patienceOf(master) < leastMs',
        'nodeTimeoutOf: fast++; → nothing',
        'nodeTimeoutOf: fast >= quorumOf(masters.length) → false',
        'nodeTimeoutOf: fast >= quorumOf(masters.length) → fast > quorumOf(masters.length)',
      ],
    },
    {
      why: 'there is a master, and so a quorum',
      mutants: [
        'neededByQuorum: timesMs.sort((one, other) => one - other)[quorumOf(timesMs.length) - 1] ?? Infinity → timesMs.sort((one, other) => one - other)[quorumOf(timesMs.length) - 1]',
      ],
    },
  ],
  'lib/quorum/deliveries.ts': [
    {
      why: 'one more state, of a master that is not there',
      mutants: ['constructor: i < count → i <= count'],
    },
  ],
  'lib/quorum/grant.ts': [
    {
      why: 'all masters are found once more, and are the same list',
      mutants: ['wasSentTo: before === all → false'],
    },
    {
      why: 'none is open: an empty list in place of none, which costs memory',
      mutants: [
        'closed: this.#open.length > 1 → true',
        'closed: this.#open.length > 1 → this.#open.length >= 1',
      ],
    },
  ],
  'lib/quorum/permit-agreement.ts': [
    {
      why: 'for the types: a semaphore grants with its permits, somebody has granted, and an answer is that to a request',
      mutants: [
        "proceed: this.#round.slotsAt(node) ?? '' → this.#round.slotsAt(node)",
        'onReply: this.#ask?.request.read(reply) → this.#ask.request.read(reply)',
        "onReply: outcome.slots ?? '' → outcome.slots",
        "mostGiven: ranked[0] ?? '' → ranked[0]",
      ],
    },
    {
      why: 'the grant is taken back and counted again, with the same permits',
      mutants: ["onReply: outcome?.kind === 'granted' → false"],
    },
    { why: 'a request is made that goes to nobody', mutants: ['alignRest: others.length === 0 → false'] },
    { why: 'each set is there once', mutants: ['mostGiven: a < b → a <= b'] },
  ],
  'lib/quorum/fence-agreement.ts': [
    {
      why: 'what was not sent is dropped as the round ends, and nothing is sent from then on',
      mutants: ['isWanted: this.#agreement.isWanted → true'],
    },
    {
      why: 'nothing waits unsent at a master to which nothing was put',
      mutants: ['proceed: before !== undefined → true', 'end: put !== undefined → true'],
    },
    {
      why: 'for the types: masters refuse only what was put to them',
      mutants: [
        '#onRefusal: this.#candidate?.fence ?? 0 → this.#candidate?.fence',
        '#onRefusal: this.#candidate?.fence → this.#candidate.fence',
      ],
    },
    {
      why: 'then so few are left that no quorum is possible, whatever is proposed',
      mutants: [
        '#isHopeless: below + this.#round.pending < quorumOf(this.#nodes.length) && this.#highest() > fence → below + this.#round.pending < quorumOf(this.#nodes.length)',
        '#isHopeless: this.#highest() > fence → this.#highest() >= fence',
      ],
    },
    {
      why: 'the grant is taken back and counted again, with the same fencing token',
      mutants: ["onReply: outcome?.kind === 'granted' → false"],
    },
  ],
  'lib/quorum/repairs.ts': [
    { why: 'it is owed no more by then', mutants: ['giveUp: false → true'] },
    {
      why: 'for the types: there is an oldest one where there are too many, and a list for each master',
      mutants: [
        'add: oldest !== undefined → true',
        'add: repairs?.add(orphan) → repairs.add(orphan)',
        'add: repairs?.attempt(orphan) → repairs.attempt(orphan)',
      ],
    },
    {
      why: 'a master that is away fails at once, without a command, and one that connects is sent it a little sooner',
      mutants: ['run: isReady && !this.#running.has(orphan.token) → !this.#running.has(orphan.token)'],
    },
    {
      why: 'once it is closed nothing is added, and no timer is left',
      mutants: ['#schedule: this.#isClosed || this.#timer !== undefined → this.#timer !== undefined'],
    },
  ],
  'lib/quorum/master-clocks.ts': [
    {
      why: 'either way the first reading counts as it is',
      mutants: ['learn: -Infinity → Infinity'],
    },
    {
      why: 'a master that is none of ours is not stale: the difference is −∞ or no number',
      mutants: ['isStale: this.#readings[index]?.boundAtMs ?? Infinity → this.#readings[index]?.boundAtMs'],
    },
    {
      why: 'for the types: only masters of the instance are asked about',
      mutants: ['isStale: this.#readings[index]?.boundAtMs → this.#readings[index].boundAtMs'],
    },
    {
      why: 'a clock that is not known is fresh only where none is, and then 0 stands for it',
      mutants: ['ticket: middleUs === undefined → false'],
    },
  ],
  'lib/quorum/round.ts': [
    {
      why: 'what is not there reads as undefined',
      mutants: [
        'constructor: i < nodes.length → false',
        'constructor: this.outcomes[i] = undefined; → nothing',
        'constructor: request.isFenced → true',
        'constructor: request.isFenced → false',
        'onReply: outcome.slots !== undefined → true',
      ],
    },
    {
      why: 'it is agreed, and yet open: so few votes count that it fails, with or without those for something else',
      mutants: ['end: !this.#isAgreed → true'],
    },
    {
      why: 'only the end of its time comes with a silence, which is what a connection that is not there changes',
      mutants: ['end: isTimeout && isUnsent → isUnsent'],
    },
    { why: 'an end after the end does nothing', mutants: ['drop: !this.#isOver → true'] },
    {
      why: 'for the types: masters answer only once they are asked, and claims of permits are granted with permits',
      mutants: [
        '#proceed: this.#settle?.() → this.#settle()',
        '#count: outcome.slots !== undefined && this.request.takesPermits → this.request.takesPermits',
      ],
    },
    {
      why: 'nobody asks the round of an extension for permits',
      mutants: [
        '#count: outcome.slots !== undefined && this.request.takesPermits → outcome.slots !== undefined',
      ],
    },
    {
      why: 'nothing waits unsent anywhere',
      mutants: [
        '#finish: this.#deliveries.sent < this.#nodes.length → true',
        '#finish: this.#deliveries.sent < this.#nodes.length → this.#deliveries.sent <= this.#nodes.length',
      ],
    },
  ],
  'lib/quorum/failure.ts': [
    {
      why: 'an extension that failed although a quorum granted was late, in any case',
      mutants: ['extensionError: isLate → false'],
    },
  ],
  'lib/quorum/renewal-batch.ts': [
    {
      why: 'of two scripts, either may come first; where there is one, the copy is the same',
      mutants: [
        'byScript: scripts.length < 2 → false',
        'byScript: request.operation.batch === script → request.operation.batch !== script',
      ],
    },
    {
      why: 'such a call is sent at once or not at all: nobody asks whether it is still wanted',
      mutants: ['isWanted: true → false'],
    },
    { why: 'it is always told whether the call may run', mutants: ['onFailure: false → true'] },
    {
      why: 'all have answered: it is over in a moment, and closed then',
      mutants: ['#noteAnswer: this.#isOver → true'],
    },
    {
      why: 'all is done by then: an unhandled rejection follows, which ends a program, and which these runs do not notice',
      mutants: ['#proceed: this.#onSure?.() → this.#onSure()'],
    },
  ],
};
