import { expect } from 'chai';
import fc from 'fast-check';
import {
  Batch,
  LoopTurn,
  entryReply,
  isAllYes,
  MAX_ENTRIES,
  MAX_EXTENSIONS,
  MAX_LENGTH,
  wholeBatch,
} from '../../lib/node/batch.js';
import { counterKey } from '../../lib/protocol/keys.js';
import {
  acceptance,
  extension,
  inspection,
  plainClaim,
  type Proposals,
  release,
  type Request,
  scriptedClaim,
  undo,
} from '../../lib/protocol/request.js';
import { NO_MARKER, type Scope } from '../../lib/protocol/scope.js';
import { BATCH } from '../../lib/protocol/lua/scripts.js';
import { entriesOf, isBatch } from '../../lib/testing/master/entries.js';
import { scriptDigest } from '../../lib/redis/script.js';
import type { Command } from '../../lib/redis/transport.js';
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

describe('batch: many requests in one call', () => {
  it('says what each of them would have said alone, in their order, whatever they are', () => {
    fc.assert(
      fc.property(fc.constantFrom(-0, 5_000), fc.gen(), (guardMs, gen) => {
        const requests = gen(fc.array, anyRequest(guardMs), { minLength: 1, maxLength: 20 });
        const command = batchOf(...requests).command(true);
        expect(entriesOf(command)).to.deep.equal(requests.map(asWhole));
      }),
      { numRuns: 300 },
    );
  });

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

describe('batch: one encoding', () => {
  const claims = Array.from({ length: 3 }, (_, i) => plainClaim(plainScope(`k${i}`), `t${i}`, 500));

  it('masters that get the same get the same command', () => {
    const turn = new LoopTurn();
    const first = turn.commandFor(batchOf(...claims));
    expect(turn.commandFor(batchOf(...claims))).to.equal(first);
    expect(turn.commandFor(batchOf(...claims.slice(1)))).to.not.equal(first);
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
