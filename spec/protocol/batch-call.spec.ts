/** The call of a batch: what it says of each request, and what its replies say to each. */
import { expect } from 'chai';
import fc from 'fast-check';
import { batchCall, entryReply, isAllYes } from '../../lib/protocol/batch-call.js';
import { entryReplies } from '../support/entries.js';
import { counterKey } from '../../lib/protocol/keys.js';
import { queueing, yielding } from '../../lib/protocol/queue-request.js';
import {
  acceptance,
  aligning,
  claimQueued,
  extension,
  inspection,
  mutePlace,
  plainClaim,
  release,
  releaseQueued,
  type Request,
  scriptedClaim,
  undo,
} from '../../lib/protocol/request.js';
import { DOWNGRADED, type Kind, NO_MARKER, READ, type Scope, WRITE } from '../../lib/protocol/scope.js';
import { SHARED_ENTRY } from '../../lib/protocol/lua/entries.js';
import { BATCH, CLAIM, SHARED_BATCH } from '../../lib/protocol/lua/scripts.js';
import { scriptDigest } from '../../lib/redis/script.js';
import type { Command } from '../../lib/redis/transport.js';
import { wide } from '../support/breadth.js';
import { plainScope } from '../support/commands.js';
import { entriesOf } from '../support/entries.js';
import { fencedScope, MARKER, permits, sharedScope } from '../support/scopes.js';

const key = fc.string({ minLength: 1, maxLength: 6 });
const keys = fc.uniqueArray(key, { minLength: 1, maxLength: 3 });
const number = fc.integer({ min: 1, max: 2 ** 52 });
const ttl = fc.constantFrom(1_000, 2_000);

/** Any request that can go in a batch, over scopes of one instance with that guard. */
function anyRequest(guardMs: number): fc.Arbitrary<Request> {
  const scope = keys.map((names) => fencedScope(guardMs, ...names));
  return fc.oneof(
    fc
      .tuple(scope, key, ttl, fc.constantFrom(0, 7))
      .map(([of, token, ms, proposal]) => scriptedClaim(of, token, ms, proposal)),
    fc.tuple(scope, key, number).map(([of, token, fence]) => acceptance(of, token, fence)),
    fc.tuple(scope, key).map(([of, token]) => undo(of, token)),
    fc.tuple(scope, key).map(([of, token]) => release(of, token)),
    fc
      .tuple(scope, key, ttl, fc.boolean())
      .map(([of, token, ttlMs, mayCreate]) => extension(of, token, { ttlMs, mayCreate })),
  );
}

const place = fc.constantFrom('', mutePlace('w:1!', 7), mutePlace('w:2!', 8));
const proposal = fc.constantFrom(0, 7);
const PLACE = { ticket: 9, lifeMs: 700 };
const kind = fc.oneof(
  fc.constantFrom(READ, WRITE),
  fc
    .tuple(fc.constantFrom('0', '0,2'), fc.integer({ min: 1, max: 2 }), fc.constantFrom(2, 3))
    .map((one) => permits(...one)),
);

/** Any request for a shared lock. */
function anyShared(guardMs: number): fc.Arbitrary<Request> {
  return fc.oneof(
    fc
      .tuple(kind, key, key, ttl, proposal, place)
      .map(([of, name, token, ms, fence, mute]) =>
        scriptedClaim(sharedScope(guardMs, of, name), token, ms, fence, mute),
      ),
    fc
      .tuple(kind, key, key, ttl, proposal)
      .map(([of, name, token, ms, fence]) => claimQueued(sharedScope(guardMs, of, name), token, ms, fence)),
    fc
      .tuple(kind, key, key, fc.constantFrom(0, 500), proposal)
      .map(([of, name, token, ttlMs, fence]) =>
        queueing(sharedScope(guardMs, of, name), token, { ...PLACE, sentAtMs: 5, ttlMs, proposal: fence }),
      ),
    fc
      .tuple(kind, key, key, fc.boolean(), proposal)
      .map(([of, name, token, rests, fence]) =>
        yielding(sharedScope(guardMs, of, name), token, { ...PLACE, serial: 3, rests, proposal: fence }),
      ),
    fc
      .tuple(key, key, number)
      .map(([name, token, fence]) => acceptance(sharedScope(guardMs, WRITE, name), token, fence)),
    fc.tuple(kind, key, key).map(([of, name, token]) => undo(sharedScope(guardMs, of, name), token)),
    fc
      .tuple(kind, key, key, proposal)
      .map(([of, name, token, fence]) => releaseQueued(sharedScope(guardMs, of, name), token, fence)),
    fc
      .tuple(fc.oneof(kind, fc.constant(DOWNGRADED)), key, key, ttl, fc.boolean())
      .map(([of, name, token, ttlMs, mayCreate]) =>
        extension(sharedScope(guardMs, of, name), token, { ttlMs, mayCreate }),
      ),
    fc
      .tuple(key, key, fc.constantFrom('0', '1,2'), fc.constantFrom(2, 3))
      .map(([name, token, slots, of]) =>
        aligning(sharedScope(guardMs, permits('', 1, of), name), token, slots),
      ),
  );
}

/** What the entries ask for, whatever they came in. */
const asked = (commands: readonly Command[]): unknown[] =>
  commands
    .flatMap(entriesOf)
    .map(({ args, keys: named, kind: what, token }) => ({ args, named, token, what }));
const together = (requests: readonly Request[]): Command => batchCall(requests, true);
const alone = (requests: readonly Request[]): readonly Command[] => requests.map(({ command }) => command);

describe('batch call: its command', () => {
  for (const numRuns of wide([100, 300], [100])) {
    it(`says of shared locks what each would have said alone, in their order, whatever they are (${numRuns})`, () => {
      fc.assert(
        fc.property(fc.constantFrom(0, 5_000), fc.gen(), (guardMs, gen) => {
          const requests = gen(fc.array, anyShared(guardMs), { minLength: 1, maxLength: 20 });
          const command = together(requests);
          expect(command.args[0]).to.equal(SHARED_BATCH.source);
          expect(asked([command])).to.deep.equal(asked(alone(requests)));
        }),
        { numRuns },
      );
    });
  }

  for (const numRuns of wide([100, 300], [100])) {
    it(`says what each of them would have said alone, in their order, whatever they are (${numRuns})`, () => {
      fc.assert(
        fc.property(fc.constantFrom(-0, 5_000), fc.gen(), (guardMs, gen) => {
          const requests = gen(fc.array, anyRequest(guardMs), { minLength: 1, maxLength: 20 });
          expect(asked([together(requests)])).to.deep.equal(asked(alone(requests)));
        }),
        { numRuns },
      );
    });
  }

  for (const guardMs of [0, 5_000]) {
    it(`guard ${guardMs}: one of each kind, and some of one kind after others, say what each would have said alone`, () => {
      const [one, two] = [fencedScope(guardMs, 'a'), fencedScope(guardMs, 'b', 'c')];
      const terms = { ttlMs: 500, mayCreate: true };
      const requests = [
        ...[scriptedClaim(one, 't1', 500, 0), scriptedClaim(two, 't2', 500, 7), undo(one, 't3')],
        ...[scriptedClaim(one, 't4', 500, 0), acceptance(two, 't5', 8), acceptance(two, 't6', 9)],
        ...[extension(one, 't7', terms), extension(two, 't8', terms), release(one, 't9')],
        ...[release(two, 't10'), release(plainScope('d'), 't11')],
      ];
      const command = together(requests);
      expect(command.args[0]).to.equal(BATCH.source);
      expect(asked([command])).to.deep.equal(asked(alone(requests)));
    });
  }

  for (const guardMs of [0, 5_000]) {
    it(`guard ${guardMs}: of shared locks, one of each kind, in one call, says what each would have said alone`, () => {
      const of = (what: Kind): Scope => ({ ...sharedScope(guardMs, what, 'a'), taken: 'taken' });
      const terms = { ttlMs: 500, mayCreate: true };
      const look = { ...PLACE, sentAtMs: 5, ttlMs: 500, proposal: 7 };
      const requests = [WRITE, READ, permits('0,1', 2)].flatMap((what, i) => [
        ...[scriptedClaim(of(what), `c${i}`, 500, 7), scriptedClaim(of(what), `m${i}`, 500, 7, 'w:1!|8')],
        ...[claimQueued(of(what), `q${i}`, 500, 7), extension(of(what), `e${i}`, terms)],
        ...[
          queueing(of(what), `l${i}`, look),
          yielding(of(what), `y${i}`, { ...PLACE, serial: 3, proposal: 7 }),
        ],
        ...[undo(of(what), `u${i}`), releaseQueued(of(what), `r${i}`, 7)],
      ]);
      requests.push(
        ...[extension(of(DOWNGRADED), 'd', terms), extension(of(DOWNGRADED), 'e', terms)],
        ...[acceptance(of(WRITE), 'a', 8), aligning(of(permits('')), 's', '0,1')],
      );
      const letters = new Set(requests.map(({ operation }) => operation.letter));
      expect([...letters]).to.have.members(Object.values(SHARED_ENTRY));
      expect(asked([together(requests)])).to.deep.equal(asked(alone(requests)));
    });
  }

  it('plain claims go as claims without fencing and guard', () => {
    const scope = plainScope('a');
    const command = batchCall([plainClaim(scope, 't1', 500), release(plainScope('b'), 't2')], false);
    expect(command.name).to.equal('evalsha');
    expect(command.args[0]).to.equal(scriptDigest(BATCH.source));
    const [claim] = entriesOf(command);
    const args = { ttl: '500', life: '0', proposal: '0', guard: '-1' };
    expect(claim).to.deep.include({ kind: 'claim', keys: ['a'], token: 't1', args });
  });

  it('requests of one kind share a group, as long as they follow each other', () => {
    const claims = Array.from({ length: 50 }, (_, i) => plainClaim(plainScope(`k${i}`), `t${i}`, 500));
    const { args } = batchCall(claims, false);
    expect(args.length).to.equal(2 + 50 + 1 + 6 + 50);
  });

  it('with an undo it is whole: that must do with one step', () => {
    const scope = plainScope('a');
    expect(batchCall([release(scope, 't'), undo(scope, 't')], false).name).to.equal('eval');
  });

  it('is under the guard of those in it that vote', () => {
    const scope = fencedScope(7_000, 'a');
    const command = batchCall([release(plainScope('b'), 't'), scriptedClaim(scope, 't', 500, 0)], false);
    expect(command.args.slice(1, 9)).to.deep.equal([
      ...['6', 'b', 'quorate:queue:{b}', 'quorate:turn:{b}'],
      ...['a', counterKey('a'), MARKER, '7000'],
    ]);
  });

  it('is under no guard where none in it votes', () => {
    const { args } = batchCall([release(plainScope('a'), 't')], false);
    expect(args[2 + Number(args[1])]).to.equal(String(NO_MARKER));
  });

  it('carries the list of taken tokens once, before the marker, if an extension may set a key again', () => {
    const scope = { ...fencedScope(5_000, 'a'), taken: 'taken' };
    const extend = (mayCreate: boolean): Request => extension(scope, 't', { ttlMs: 500, mayCreate });
    const keysOf = (...requests: readonly Request[]): readonly string[] => {
      const { args } = batchCall(requests, false);
      return args.slice(2, 2 + Number(args[1]));
    };
    expect(keysOf(extend(true), extend(false), extend(true))).to.deep.equal(['a', 'a', 'a', 'taken', MARKER]);
    expect(keysOf(extend(false))).to.deep.equal(['a', MARKER]);
  });

  it('of one: what has no short way is the only entry, whole or not, and its lesson is that of the batch', () => {
    const extend = extension(fencedScope(5_000, 'a'), 't', { ttlMs: 500, mayCreate: true });
    expect(extend.command).to.deep.equal({
      name: 'evalsha',
      args: [scriptDigest(BATCH.source), '2', 'a', MARKER, '5000', 'e', '1', '1', '500', '1', 't'],
    });
    const [, ...rest] = extend.command.args;
    expect(extend.whole()).to.deep.equal({ name: 'eval', args: [BATCH.source, ...rest] });
    expect(extend.lesson()).to.deep.equal({ name: 'eval', args: [BATCH.source, '0', '-1'] });
    const ofShared = extension(sharedScope(-1, READ, 'a'), 't', { ttlMs: 500, mayCreate: true });
    expect([ofShared.script, ofShared.isLoneEntry]).to.deep.equal([SHARED_BATCH, true]);
    const claim = scriptedClaim(plainScope('a'), 't', 500, 0);
    expect([claim.script, claim.isLoneEntry]).to.deep.equal([CLAIM, false]);
    expect(plainClaim(plainScope('a'), 't', 500).script).to.equal(undefined);
  });

  it('of what leaves no vote, nothing is loaded', () => {
    const accept = acceptance(fencedScope(0, 'a'), 't', 7);
    expect([accept.isLoneEntry, accept.lesson()]).to.deep.equal([true, undefined]);
    expect(release(plainScope('a'), 't').lesson()).to.equal(undefined);
  });

  it('of what is no entry: there is none', () => {
    expect(() => batchCall([inspection('c')], false)).to.throw('goes alone');
  });
});

describe('batch call: replies', () => {
  const claim = plainClaim(plainScope('a'), 't', 500);
  const fencedClaim = scriptedClaim(fencedScope(0, 'a'), 't', 500, 0);

  it('a text with a mark is the error of one entry', () => {
    const error = entryReply(claim, '!OOM command not allowed');
    expect(error).to.be.instanceOf(Error).with.property('message', 'OOM command not allowed');
  });

  it('a plain yes comes in short, and is written out where it would not be short alone', () => {
    const scope = fencedScope(0, 'a');
    const terms = { ttlMs: 500, mayCreate: true };
    const cases: [Request, unknown, unknown][] = [
      [claim, 1, [1, 0, 0]],
      [claim, '1', [1, 0, 0]],
      [fencedClaim, 1_790_000_000_000_000, 1_790_000_000_000_000],
      [acceptance(scope, 't', 7), 7, [1, 7, 0]],
      [extension(scope, 't', terms), 1, [1, 0, 0]],
      [undo(scope, 't'), 0, [0, -2, 0]],
      [release(scope, 't'), 1, 1],
    ];
    for (const [request, short, full] of cases) expect(entryReply(request, short)).to.deep.equal(full);
  });

  it('for shared locks: a 1 is a plain yes, the token that was put to the master, or permit 0', () => {
    const writer = sharedScope(0, WRITE, 'a');
    const terms = { ttlMs: 500, mayCreate: true };
    const of = sharedScope(0, permits('0'), 'a');
    const look = queueing(of, 't', { ...PLACE, sentAtMs: 5, ttlMs: 500, proposal: 0 });
    const cases: [Request, unknown, unknown][] = [
      [scriptedClaim(sharedScope(0, READ, 'a'), 't', 500, 0), 1, [1, 0, 0]],
      [scriptedClaim(writer, 't', 500, 1_790_000_000_000_000), 1, 1_790_000_000_000_000],
      [scriptedClaim(writer, 't', 500, 7), '1790000000000001', 1_790_000_000_000_001],
      [scriptedClaim({ ...writer, isFenced: false }, 't', 500, 0), 1, [1, 0, 0]],
      [acceptance(writer, 't', 7), 1, [1, 7, 0]],
      [acceptance(writer, 't', 7), 8, [1, 8, 0]],
      [extension(sharedScope(0, READ, 'a'), 't', terms), 1, [1, 0, 0]],
      [scriptedClaim(of, 't', 500, 0), 1, [1, 0, 0, 0]],
      [scriptedClaim(of, 't', 500, 0), '3', [1, 0, 0, 2]],
      [scriptedClaim(of, 't', 500, 0), [1, 0, 0, 1, 2], [1, 0, 0, 1, 2]],
      [aligning(of, 't', '1'), 2, [1, 0, 0, 1]],
      [aligning(of, 't', '1'), 0, 0],
      [extension(of, 't', terms), 1, [1, 0, 0]],
      [extension(sharedScope(0, DOWNGRADED, 'a'), 't', terms), 1, [1, 0, 0]],
      [look, [6, 3, 9, 0, 5], [6, 3, 9, 0, 5]],
      [yielding(of, 't', { ...PLACE, serial: 3, proposal: 0 }), 1, 1],
      [release(of, 't'), 1, [1, -2, 0]],
      [undo(writer, 't'), 0, [0, -2, 0]],
    ];
    for (const [request, short, full] of cases) expect(entryReply(request, short)).to.deep.equal(full);
  });

  it('a number that is no yes is one of its own', () => {
    expect(entryReply(claim, 0)).to.deep.equal([0, 0, 0]);
  });

  it('all were granted if the reply is their number, and not a list', () => {
    const replies = [[2], 2, '2', 1, 3, null, '!OOM'].map((reply) => isAllYes(reply, 2));
    expect(replies).to.deep.equal([false, true, true, false, false, false, false]);
  });

  it('each entry has its own; where the script said something else, all have none', () => {
    const two = [claim, release(plainScope('b'), 't')];
    expect(entryReplies(two, 2)).to.deep.equal([[1, 0, 0], 1]);
    expect(entryReplies(two, [[0, 5, 0], 0])).to.deep.equal([[0, 5, 0], 0]);
    for (const odd of [1, [1], null, 'OK'])
      expect(entryReplies(two, odd)).to.deep.equal([undefined, undefined]);
  });

  it('all else is a reply as it is, odd ones too', () => {
    for (const reply of [[0, 5, 0], 'odd', null, 1.5, '']) expect(entryReply(claim, reply)).to.equal(reply);
  });
});
