import { expect } from 'chai';
import fc from 'fast-check';
import {
  Batch,
  LoopTurn,
  entryReply,
  isAllYes,
  lessonFor,
  MAX_ENTRIES,
  MAX_EXTENSIONS,
  MAX_LENGTH,
  wholeBatch,
} from '../../lib/node/batch.js';
import { counterKey } from '../../lib/protocol/keys.js';
import {
  acceptance,
  aligning,
  extension,
  inspection,
  plainClaim,
  type Proposals,
  release,
  releaseQueued,
  type Request,
  scriptedClaim,
  undo,
} from '../../lib/protocol/request.js';
import { type Kind, NO_MARKER, READ, type Scope, WRITE } from '../../lib/protocol/scope.js';
import { BATCH, SHARED_BATCH } from '../../lib/protocol/lua/scripts.js';
import { entriesOf, isBatch } from '../support/entries.js';
import { scriptDigest } from '../../lib/redis/script.js';
import type { Command } from '../../lib/redis/transport.js';
import { wide } from '../support/breadth.js';
import { plainScope } from '../support/commands.js';

const MARKER = 'quorate:guard';

function fenced(guardMs: number, ...keys: readonly string[]): Scope {
  return { ...plainScope(...keys), isFenced: true, marker: MARKER, guardMs };
}

function batchOf(...requests: readonly Request[]): Batch {
  const batch = new Batch();
  for (const request of requests) expect(batch.add(request)).to.equal(true);
  return batch;
}

function permits(slots: string, wanted = 1, of = 3): Kind {
  return { name: 'semaphore', permits: of, wanted, slots };
}

/** A shared lock under a guard; writers are fenced. */
function shared(guardMs: number, kind: Kind, name: string): Scope {
  return { ...fenced(guardMs, name), kind, isFenced: kind.name === 'write' };
}

/** A command by script, as it goes with its source and without. */
const asWhole = (request: Request): Command =>
  request.command.name === 'set' ? request.command : request.whole();

const key = fc.string({ minLength: 1, maxLength: 6 });
const keys = fc.uniqueArray(key, { minLength: 1, maxLength: 3 });
const number = fc.integer({ min: 1, max: 2 ** 52 });
const ttl = fc.constantFrom(1_000, 2_000);

/** Any request that can go in a batch, over scopes of one instance with that guard. */
function anyRequest(guardMs: number): fc.Arbitrary<Request> {
  const scope = keys.map((names) => fenced(guardMs, ...names));
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

const watch = fc.constantFrom(undefined, { watcher: 'w:1', rank: 0 }, { watcher: 'w:2', rank: 1 });
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
      .tuple(kind, key, key, ttl, fc.constantFrom(0, 7), watch)
      .map(([of, name, token, ms, proposal, waits]) =>
        scriptedClaim(shared(guardMs, of, name), token, ms, proposal, waits),
      ),
    fc
      .tuple(key, key, number)
      .map(([name, token, fence]) => acceptance(shared(guardMs, WRITE, name), token, fence)),
    fc.tuple(kind, key, key).map(([of, name, token]) => undo(shared(guardMs, of, name), token)),
    fc.tuple(kind, key, key).map(([of, name, token]) => release(shared(guardMs, of, name), token)),
    fc
      .tuple(kind, key, key, ttl, fc.boolean())
      .map(([of, name, token, ttlMs, mayCreate]) =>
        extension(shared(guardMs, of, name), token, { ttlMs, mayCreate }),
      ),
    fc
      .tuple(key, key, fc.constantFrom('0', '1,2'), fc.constantFrom(2, 3))
      .map(([name, token, slots, of]) => aligning(shared(guardMs, permits('', 1, of), name), token, slots)),
  );
}

describe('batch: many requests in one call', () => {
  for (const numRuns of wide([100, 300], [100])) {
    it(`says of shared locks what each would have said alone, in their order, whatever they are (${numRuns})`, () => {
      fc.assert(
        fc.property(fc.constantFrom(0, 5_000), fc.gen(), (guardMs, gen) => {
          const requests = gen(fc.array, anyShared(guardMs), { minLength: 1, maxLength: 20 });
          const command = batchOf(...requests).command(true);
          expect(command.args[0]).to.equal(SHARED_BATCH.source);
          expect(entriesOf(command)).to.deep.equal(requests.map(asWhole));
        }),
        { numRuns },
      );
    });
  }

  it('claims for shared locks share a group if they ask for the same and all are watched for alike, or none', () => {
    const claim = (of: Kind, waits?: { watcher: string; rank: number }): Request =>
      scriptedClaim(shared(0, of, 'a'), 't', 500, 0, waits);
    const [waiting, other] = [
      { watcher: 'w:1', rank: 0 },
      { watcher: 'w:2', rank: 1 },
    ];
    const pairs: [Request, Request, boolean][] = [
      [claim(READ), claim(READ), true],
      [claim(READ), claim(WRITE), false],
      [claim(permits('')), claim(permits('0')), true],
      [claim(permits('')), claim(permits('', 2)), false],
      [claim(permits('')), claim(permits('', 1, 4)), false],
      [claim(READ, waiting), claim(READ, { ...waiting, watcher: 'w:3' }), true],
      [claim(READ, waiting), claim(READ, other), false],
      [claim(READ, waiting), claim(READ), false],
    ];
    for (const [one, next, areAlike] of pairs) expect(one.isLike(next)).to.equal(areAlike);
  });

  it('a request for a shared lock and one for an exclusive lock never share a call', () => {
    expect(batchOf(release(plainScope('a'), 't')).add(release(shared(0, READ, 'b'), 't'))).to.equal(false);
    expect(batchOf(release(shared(0, READ, 'b'), 't')).add(release(plainScope('a'), 't'))).to.equal(false);
    expect(batchOf(inspection('c')).add(release(shared(0, READ, 'b'), 't'))).to.equal(false);
    expect(() => batchOf(inspection('c')).command(false)).to.throw('goes alone');
  });

  it('the lesson loads the script that would have carried it; what goes alone has none', () => {
    const scopes = [plainScope('a'), shared(0, READ, 'a')];
    const twice = (request: Request): Command | undefined => lessonFor([request, request]);
    expect(scopes.map((scope) => twice(release(scope, 't'))?.args)).to.deep.equal([
      [BATCH.source, '0', '-1'],
      [SHARED_BATCH.source, '0', '-1'],
    ]);
    expect(twice(inspection('a'))).to.equal(undefined);
    const alone = scriptedClaim(shared(0, READ, 'a'), 't', 500, 0);
    expect(lessonFor([alone])).to.deep.equal(alone.lesson());
  });

  for (const numRuns of wide([100, 300], [100])) {
    it(`says what each of them would have said alone, in their order, whatever they are (${numRuns})`, () => {
      fc.assert(
        fc.property(fc.constantFrom(-0, 5_000), fc.gen(), (guardMs, gen) => {
          const requests = gen(fc.array, anyRequest(guardMs), { minLength: 1, maxLength: 20 });
          const command = batchOf(...requests).command(true);
          expect(entriesOf(command)).to.deep.equal(requests.map(asWhole));
        }),
        { numRuns },
      );
    });
  }

  for (const guardMs of [0, 5_000]) {
    it(`guard ${guardMs}: one of each kind, and some of one kind after others, say what each would have said alone`, () => {
      const [one, two] = [fenced(guardMs, 'a'), fenced(guardMs, 'b', 'c')];
      const terms = { ttlMs: 500, mayCreate: true };
      const requests = [
        ...[scriptedClaim(one, 't1', 500, 0), scriptedClaim(two, 't2', 500, 7), undo(one, 't3')],
        ...[scriptedClaim(one, 't4', 500, 0), acceptance(two, 't5', 8), acceptance(two, 't6', 9)],
        ...[extension(one, 't7', terms), extension(two, 't8', terms), release(one, 't9')],
        ...[release(two, 't10'), release(plainScope('d'), 't11')],
      ];
      for (const command of [batchOf(...requests).command(true), wholeBatch(requests)]) {
        expect(command.args[0]).to.equal(BATCH.source);
        expect(entriesOf(command)).to.deep.equal(requests.map(asWhole));
      }
    });
  }

  it('plain claims go as claims without fencing and guard', () => {
    const scope = plainScope('a');
    const command = batchOf(plainClaim(scope, 't1', 500), release(plainScope('b'), 't2')).command(false);
    expect(command.name).to.equal('evalsha');
    expect(command.args[0]).to.equal(scriptDigest(BATCH.source));
    const [claim] = entriesOf(command);
    expect(claim?.args.slice(1)).to.deep.equal(['1', 'a', 't1', '500', '0', '0', '-1']);
  });

  it('requests of one kind share a group, as long as they follow each other', () => {
    const claims = Array.from({ length: 50 }, (_, i) => plainClaim(plainScope(`k${i}`), `t${i}`, 500));
    const { args } = batchOf(...claims).command(false);
    expect(args.length).to.equal(2 + 50 + 1 + 6 + 50);
  });

  it('with an undo it is whole: that must do with one step', () => {
    const scope = plainScope('a');
    expect(batchOf(release(scope, 't'), undo(scope, 't')).command(false).name).to.equal('eval');
  });

  it('is under the guard of those in it that vote', () => {
    const scope = fenced(7_000, 'a');
    const command = batchOf(release(plainScope('b'), 't'), scriptedClaim(scope, 't', 500, 0)).command(false);
    expect(command.args.slice(1, 9)).to.deep.equal([
      ...['6', 'b', 'quorate:queue:{b}', 'quorate:turn:{b}'],
      ...['a', counterKey('a'), MARKER, '7000'],
    ]);
  });

  it('takes none that is under another guard, nor one that always goes alone', () => {
    const batch = batchOf(scriptedClaim(fenced(7_000, 'a'), 't', 500, 0));
    expect(batch.add(plainClaim(plainScope('b'), 't', 500))).to.equal(false);
    expect(batch.add(inspection('c'))).to.equal(false);
    expect(batch.add(release(plainScope('b'), 't'))).to.equal(true);
    const alone = batchOf(inspection('c'));
    expect(alone.add(release(plainScope('b'), 't'))).to.equal(false);
  });

  it('is under no guard where none in it votes', () => {
    const { args } = batchOf(release(plainScope('a'), 't')).command(false);
    expect(args[2 + Number(args[1])]).to.equal(String(NO_MARKER));
  });

  it('is whole where it is sent again to a master that did not know the script', () => {
    const { name } = wholeBatch([release(plainScope('a'), 't'), release(plainScope('b'), 't')]);
    expect(name).to.equal('eval');
  });

  it('takes none of another guard period, nor of another marker, nor one that goes alone beside one without a guard', () => {
    const batch = batchOf(scriptedClaim(fenced(7_000, 'a'), 't', 500, 0));
    expect(batch.add(scriptedClaim(fenced(8_000, 'b'), 't', 500, 0))).to.equal(false);
    const marked = { ...fenced(7_000, 'b'), marker: 'another' };
    expect(batch.add(scriptedClaim(marked, 't', 500, 0))).to.equal(false);
    expect(batch.add(scriptedClaim(fenced(7_000, 'b'), 't', 500, 0))).to.equal(true);
    expect(batchOf(release(plainScope('a'), 't')).add(inspection('c'))).to.equal(false);
  });

  it(`is bounded: ${MAX_EXTENSIONS} extensions of shared locks, or ${MAX_ENTRIES} of anything else`, () => {
    const terms = { ttlMs: 500, mayCreate: true };
    const scope = (of: Kind, i: number): Scope => shared(0, of, `k${i}`);
    const cases: [(i: number) => Request, number][] = [
      [(i) => extension(scope(READ, i), 't', terms), MAX_EXTENSIONS],
      [(i) => extension(scope(permits('0'), i), 't', terms), MAX_EXTENSIONS],
      [(i) => scriptedClaim(scope(READ, i), 't', 500, 0), MAX_ENTRIES],
      [(i) => release(scope(permits('0'), i), 't'), MAX_ENTRIES],
    ];
    for (const [make, most] of cases) {
      const batch = new Batch();
      let added = 0;
      while (added <= MAX_EXTENSIONS && batch.add(make(added))) added++;
      expect(added).to.equal(most);
    }
  });

  it('is bounded: what is as long as a call may be goes alone', () => {
    const long = batchOf(plainClaim(plainScope('x'.repeat(MAX_LENGTH)), 't', 500));
    expect(long.add(plainClaim(plainScope('y'), 't', 500))).to.equal(false);
  });

  it('is bounded: an extension of several keys takes as much of it as a claim, one of one key half of that', () => {
    expect(MAX_EXTENSIONS).to.equal(2 * MAX_ENTRIES);
    const terms = { ttlMs: 500, mayCreate: true };
    for (const [extend, most] of [
      [(i: number) => extension(plainScope(`a${i}`, `b${i}`), 't', terms), MAX_ENTRIES],
      [(i: number) => extension(fenced(0, `a${i}`), 't', terms), MAX_EXTENSIONS],
    ] as const) {
      const batch = new Batch();
      let added = 0;
      while (added <= MAX_EXTENSIONS && batch.add(extend(added))) added++;
      expect(added).to.equal(most);
    }
  });

  it(`is bounded: ${MAX_ENTRIES} entries, ${MAX_LENGTH} units of keys; one that is longer goes alone`, () => {
    const claim = (name: string): Request => plainClaim(plainScope(name), 't', 500);
    const full = batchOf(...Array.from({ length: MAX_ENTRIES }, (_, i) => claim(`k${i}`)));
    expect(full.add(claim('more'))).to.equal(false);
    const long = batchOf(claim('x'.repeat(MAX_LENGTH + 1)));
    expect(long.add(claim('y'))).to.equal(false);
  });

  it('is bounded: what may hand over takes as much of it as two others', () => {
    const batch = new Batch();
    let added = 0;
    while (added < MAX_ENTRIES && batch.add(releaseQueued(plainScope(`r${added}`), 't', 7))) added++;
    expect(added).to.equal(MAX_ENTRIES / 2);
  });

  it(`is bounded: ${MAX_EXTENSIONS} extensions of one key each, or half of them beside half of the others`, () => {
    const extend = (i: number): Request =>
      extension(plainScope(`k${i}`), 't', { ttlMs: 500, mayCreate: true });
    const claims = Array.from({ length: MAX_ENTRIES / 2 }, (_, i) =>
      plainClaim(plainScope(`c${i}`), 't', 500),
    );
    for (const others of [[], claims]) {
      const batch = batchOf(...others);
      let added = 0;
      while (batch.add(extend(added))) added++;
      expect(added).to.equal(others.length === 0 ? MAX_EXTENSIONS : MAX_EXTENSIONS / 2);
    }
  });
});

describe('batch: what its claims propose', () => {
  /** Draws 1, 2, 3 and so on. */
  function proposals(): Proposals {
    let last = 0;
    return { propose: () => ++last };
  }
  const claimed = (command: Command): string[] =>
    entriesOf(command).map(({ args }) => args[args.indexOf('500') + 2] ?? '');

  it('is drawn when the call is encoded, and shared by all of them; it stays the same when it is encoded again', () => {
    const from = proposals();
    const claim = (token: string, ...names: string[]): Request =>
      scriptedClaim(fenced(0, ...names), token, 500, from);
    const [a, b, c] = [claim('ta', 'a'), claim('tb', 'b', 'c'), claim('tc', 'd')];
    expect(from.propose()).to.equal(1); // so nothing was drawn as they were made
    const one = batchOf(a, b, c);
    expect([claimed(one.command(false)), claimed(one.command(true))]).to.deep.equal([
      ['2', '2', '2'],
      ['2', '2', '2'],
    ]);
    expect([a.command.args.at(-2), c.whole().args.at(-2), from.propose()]).to.deep.equal(['2', '2', 3]);
  });

  it('two masters whose calls differ are proposed the same for the same claim', () => {
    const from = proposals();
    const claim = (name: string): Request => scriptedClaim(fenced(0, name), `t${name}`, 500, from);
    const [a, b, c, d] = [claim('a'), claim('b'), claim('c'), claim('d')];
    expect(claimed(batchOf(b, c).command(false))).to.deep.equal(['1', '1']);
    expect(claimed(batchOf(a, b, c, d).command(false))).to.deep.equal(['2', '1', '1', '2']);
    expect(claimed(batchOf(d, a, b).command(false))).to.deep.equal(['2', '2', '1']);
  });

  it('a claim that goes alone draws its own, once; one without fencing draws none, nor does anything else', () => {
    const from = proposals();
    const alone = scriptedClaim(fenced(0, 'a'), 't', 500, from);
    expect([alone.command.args.at(-2), alone.command.args.at(-2), alone.amount]).to.deep.equal(['1', '1', 1]);
    const plain = scriptedClaim({ ...fenced(0, 'a'), isFenced: false }, 't', 500, from);
    expect([plain.command.args.at(-2), plain.drawWith(7), plain.amount]).to.deep.equal(['0', 7, 0]);
    const accept = acceptance(fenced(0, 'a'), 't', 70);
    expect([accept.drawWith(undefined), accept.amount, from.propose()]).to.deep.equal([undefined, 70, 2]);
  });
});

describe('batch: what is taken from those that wait', () => {
  const asks = (...requests: readonly Request[]): { request: Request }[] =>
    requests.map((request) => ({ request }));
  const tokens = (entries: readonly { request: Request }[]): string =>
    entries.map(({ request }) => request.token).join('');
  const exclusive = (name: string, token: string): Request => release(plainScope(name), token);
  const ofShared = (name: string, token: string): Request => release(shared(0, READ, name), token);
  /** The tokens of each call, one after another. */
  const calls = (entries: { request: Request }[], most = Infinity): string[] => {
    const all: string[] = [];
    while (entries.length > 0) all.push(tokens(new Batch().take(entries, most)));
    return all;
  };

  it('those of the first one’s script, in their order; the others are left, in theirs', () => {
    const entries = asks(exclusive('a', 'A'), ofShared('b', 'b'), exclusive('c', 'C'), ofShared('d', 'd'));
    expect(tokens(new Batch().take(entries, 9))).to.equal('AC');
    expect(tokens(entries)).to.equal('bd');
    expect(calls(asks(ofShared('b', 'b'), exclusive('a', 'A'), ofShared('d', 'd')))).to.deep.equal([
      'bd',
      'A',
    ]);
  });

  it('not beyond a request that goes alone: nothing passes that', () => {
    const alone = inspection('a');
    const entries = asks(
      exclusive('x', 'X'),
      ofShared('b', 'b'),
      alone,
      exclusive('a', 'A'),
      ofShared('c', 'c'),
    );
    expect(calls(entries)).to.deep.equal(['X', 'b', '', 'A', 'c']);
  });

  it('requests for one resource keep their order, whichever script carries them', () => {
    const entries = asks(
      exclusive('x', 'X'),
      ofShared('a', 'a'),
      exclusive('y', 'Y'),
      exclusive('a', 'A'),
      exclusive('z', 'Z'),
    );
    expect(calls(entries)).to.deep.equal(['XY', 'a', 'AZ']);
    const two = release(plainScope('b', 'a'), 'W');
    expect(calls(asks(exclusive('x', 'X'), ofShared('a', 'a'), two))).to.deep.equal(['X', 'a', 'W']);
  });

  it('as many as asked for, and no more than fit', () => {
    const entries = (): { request: Request }[] =>
      asks(exclusive('a', 'A'), ofShared('b', 'b'), exclusive('c', 'C'), exclusive('d', 'D'));
    expect(calls(entries(), 2)).to.deep.equal(['AC', 'b', 'D']);
    const long = asks(exclusive('x'.repeat(MAX_LENGTH), 'X'), ofShared('b', 'b'), exclusive('c', 'C'));
    expect(calls(long)).to.deep.equal(['X', 'b', 'C']);
  });
});

describe('batch: one encoding', () => {
  it('a turn tells how idle the process has been, if anybody knows', () => {
    const idle = (): number => 17;
    expect([new LoopTurn(3, idle).idle, new LoopTurn(3).idle]).to.deep.equal([idle, undefined]);
  });

  const claims = Array.from({ length: 3 }, (_, i) => plainClaim(plainScope(`k${i}`), `t${i}`, 500));

  it('masters that get the same get the same command', () => {
    const turn = new LoopTurn();
    const first = turn.commandFor(batchOf(...claims));
    expect(turn.commandFor(batchOf(...claims))).to.equal(first);
    expect(turn.commandFor(batchOf(...claims.slice(1)))).to.not.equal(first);
  });

  it('also where each gets a call for exclusive locks and one for shared locks', () => {
    const turn = new LoopTurn();
    const others = [release(shared(0, READ, 'a'), 't1'), release(shared(0, READ, 'b'), 't2')];
    const [one, two] = [turn.commandFor(batchOf(...claims)), turn.commandFor(batchOf(...others))];
    expect([turn.commandFor(batchOf(...claims)), turn.commandFor(batchOf(...others))]).to.deep.equal([
      one,
      two,
    ]);
    expect(turn.commandFor(batchOf(...claims))).to.equal(one);
    expect(turn.commandFor(batchOf(...others))).to.equal(two);
    expect(turn.commandFor(batchOf(...claims.slice(1)))).to.not.equal(one);
    expect(turn.commandFor(batchOf(...others))).to.equal(two);
    expect(turn.commandFor(batchOf(...claims))).to.not.equal(one); // it keeps two
  });

  it('what differs in one entry, or has fewer, is another command; none is sent whole', () => {
    const turn = new LoopTurn();
    const [one, two, three] = claims as [Request, Request, Request];
    const asked = [
      [one, two],
      [one, three],
      [one, two, three],
      [one, two],
    ];
    const commands = asked.map((requests) => turn.commandFor(batchOf(...requests)));
    expect(commands.map(({ name }) => name)).to.deep.equal(asked.map(() => 'evalsha'));
    for (const [i, command] of commands.entries()) expect(Number(command.args[1])).to.equal(asked[i]?.length);
    expect(commands[1]?.args).to.include(three.token).and.not.include(two.token);
  });

  it('a single master that is idle gets a large crowd in two calls', () => {
    const shares = [
      new LoopTurn(1).shareOf(31, 0),
      new LoopTurn(1).shareOf(32, 0),
      new LoopTurn(1).shareOf(33, 0),
      new LoopTurn(1).shareOf(33, 1),
      new LoopTurn(3).shareOf(64, 0),
    ];
    expect(shares).to.deep.equal([31, 16, 17, 33, 64]);
  });

  it('keeps nothing beyond the turn of the event loop', async () => {
    const turn = new LoopTurn();
    const first = turn.commandFor(batchOf(...claims));
    await new Promise(setImmediate);
    expect(turn.commandFor(batchOf(...claims)) === first).to.equal(false);
  });
});

describe('batch: replies', () => {
  const claim = plainClaim(plainScope('a'), 't', 500);
  const fencedClaim = scriptedClaim(fenced(0, 'a'), 't', 500, 0);

  it('a text with a mark is the error of one entry', () => {
    const error = entryReply(claim, '!OOM command not allowed');
    expect(error).to.be.instanceOf(Error).with.property('message', 'OOM command not allowed');
  });

  it('a plain yes comes in short, and is written out where it would not be short alone', () => {
    const scope = fenced(0, 'a');
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
    const writer = shared(0, WRITE, 'a');
    const terms = { ttlMs: 500, mayCreate: true };
    const of = shared(0, permits('0'), 'a');
    const cases: [Request, unknown, unknown][] = [
      [scriptedClaim(shared(0, READ, 'a'), 't', 500, 0), 1, [1, 0, 0]],
      [scriptedClaim(writer, 't', 500, 1_790_000_000_000_000), 1, 1_790_000_000_000_000],
      [scriptedClaim(writer, 't', 500, 7), '1790000000000001', 1_790_000_000_000_001],
      [scriptedClaim({ ...writer, isFenced: false }, 't', 500, 0), 1, [1, 0, 0]],
      [acceptance(writer, 't', 7), 1, [1, 7, 0]],
      [acceptance(writer, 't', 7), 8, [1, 8, 0]],
      [extension(shared(0, READ, 'a'), 't', terms), 1, [1, 0, 0]],
      [scriptedClaim(of, 't', 500, 0), 1, [1, 0, 0, 0]],
      [scriptedClaim(of, 't', 500, 0), '3', [1, 0, 0, 2]],
      [scriptedClaim(of, 't', 500, 0), [1, 0, 0, 1, 2], [1, 0, 0, 1, 2]],
      [aligning(of, 't', '1'), 2, [1, 0, 0, 1]],
      [aligning(of, 't', '1'), 0, 0],
      [extension(of, 't', terms), 1, [1, 0, 0]],
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

  it('all else is a reply as it is, odd ones too', () => {
    for (const reply of [[0, 5, 0], 'odd', null, 1.5, '']) expect(entryReply(claim, reply)).to.equal(reply);
  });

  it('a lone command is its own entry', () => {
    const { command } = release(plainScope('a'), 't');
    expect(isBatch(command)).to.equal(false);
    expect(entriesOf(command)).to.deep.equal([command]);
  });
});
