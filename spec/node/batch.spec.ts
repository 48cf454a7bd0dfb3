import { expect } from 'chai';
import { Batch, LoopTurn, lessonFor, MAX_ENTRIES, MAX_EXTENSIONS, MAX_LENGTH } from '../../lib/node/batch.js';
import { LEAN } from '../../lib/protocol/lua/entries.js';
import { queueing, yielding } from '../../lib/protocol/queue-request.js';
import {
  acceptance,
  claimQueued,
  extension,
  inspection,
  mutePlace,
  plainClaim,
  type Proposals,
  release,
  releaseQueued,
  type Request,
  scriptedClaim,
} from '../../lib/protocol/request.js';
import { DOWNGRADED, type Kind, READ, type Scope, WRITE } from '../../lib/protocol/scope.js';
import { BATCH, SHARED_BATCH } from '../../lib/protocol/lua/scripts.js';
import { entriesOf } from '../support/entries.js';
import type { Command } from '../../lib/redis/transport.js';
import { plainScope } from '../support/commands.js';
import { fencedScope, permits, sharedScope } from '../support/scopes.js';

function batchOf(...requests: readonly Request[]): Batch {
  const batch = new Batch();
  for (const request of requests) expect(batch.add(request)).to.equal(true);
  return batch;
}

describe('batch: many requests in one call', () => {
  it('requests for shared locks share a group if they ask for the same, whatever places they take', () => {
    const of = (kind: Kind): Scope => sharedScope(0, kind, 'a');
    const claim = (kind: Kind, place = ''): Request => scriptedClaim(of(kind), 't', 500, 0, place);
    const look = (kind: Kind, ticket: number, ttlMs = 500, proposal = 7): Request =>
      queueing(of(kind), 't', { ticket, lifeMs: 9, sentAtMs: ticket, ttlMs, proposal });
    const giveBack = (kind: Kind, serial: number, rests = false): Request =>
      yielding(of(kind), 't', { serial, ticket: serial, lifeMs: 9, proposal: 7, rests });
    const terms = { ttlMs: 500, mayCreate: true };
    const mute = mutePlace('w:1!', 7);
    const pairs: [Request, Request, boolean][] = [
      [claim(READ), claim(READ), true],
      [claim(READ), claim(WRITE), false],
      [claim(permits('')), claim(permits('0')), true],
      [claim(permits('')), claim(permits('', 2)), false],
      [claim(permits('')), claim(permits('', 1, 4)), false],
      [claim(READ, mute), claim(READ), true],
      [claim(WRITE, mute), claimQueued(of(WRITE), 't', 500, 0), true],
      [look(READ, 1), look(READ, 2), true],
      [look(READ, 1), look(WRITE, 1), false],
      [look(READ, 1), look(READ, 1, 0), false],
      [look(WRITE, 1), look(WRITE, 1, 500, 8), false],
      [look(permits(''), 1), look(permits('', 2), 1), false],
      [giveBack(READ, 1), giveBack(READ, 2, true), true],
      [giveBack(READ, 1), giveBack(WRITE, 1), false],
      [giveBack(READ, 1), look(READ, 1), false],
      [extension(of(READ), 't', terms), extension(of(DOWNGRADED), 't', terms), false],
      [releaseQueued(of(READ), 't', 7), releaseQueued(of(READ), 't', 7), true],
      [releaseQueued(of(READ), 't', 7), releaseQueued(of(READ), 't', 8), false],
    ];
    for (const [one, next, areAlike] of pairs) expect(one.isLike(next)).to.equal(areAlike);
  });

  it('a request for a shared lock and one for an exclusive lock never share a call', () => {
    expect(batchOf(release(plainScope('a'), 't')).add(release(sharedScope(0, READ, 'b'), 't'))).to.equal(
      false,
    );
    expect(batchOf(release(sharedScope(0, READ, 'b'), 't')).add(release(plainScope('a'), 't'))).to.equal(
      false,
    );
    expect(batchOf(inspection('c')).add(release(sharedScope(0, READ, 'b'), 't'))).to.equal(false);
    expect(() => batchOf(inspection('c')).command(false)).to.throw('goes alone');
  });

  it('the lesson loads the script that would have carried it; what goes alone has none', () => {
    const scopes = [plainScope('a'), sharedScope(0, READ, 'a')];
    const twice = (request: Request): Command | undefined => lessonFor([request, request]);
    expect(scopes.map((scope) => twice(release(scope, 't'))?.args)).to.deep.equal([
      [BATCH.source, '0', '-1'],
      [SHARED_BATCH.source, '0', '-1'],
    ]);
    expect(twice(inspection('a'))).to.equal(undefined);
    const alone = scriptedClaim(sharedScope(0, READ, 'a'), 't', 500, 0);
    expect(lessonFor([alone])).to.deep.equal(alone.lesson());
  });

  it('takes none that is under another guard, nor one that always goes alone', () => {
    const batch = batchOf(scriptedClaim(fencedScope(7_000, 'a'), 't', 500, 0));
    expect(batch.add(plainClaim(plainScope('b'), 't', 500))).to.equal(false);
    expect(batch.add(inspection('c'))).to.equal(false);
    expect(batch.add(release(plainScope('b'), 't'))).to.equal(true);
    const alone = batchOf(inspection('c'));
    expect(alone.add(release(plainScope('b'), 't'))).to.equal(false);
    // what is under no guard comes first as well
    expect(
      batchOf(release(plainScope('b'), 't')).add(scriptedClaim(fencedScope(7_000, 'a'), 't', 500, 0)),
    ).to.equal(true);
  });

  it('takes none of another guard period, nor of another marker, nor one that goes alone beside one without a guard', () => {
    const batch = batchOf(scriptedClaim(fencedScope(7_000, 'a'), 't', 500, 0));
    expect(batch.add(scriptedClaim(fencedScope(8_000, 'b'), 't', 500, 0))).to.equal(false);
    const marked = { ...fencedScope(7_000, 'b'), marker: 'another' };
    expect(batch.add(scriptedClaim(marked, 't', 500, 0))).to.equal(false);
    expect(batch.add(scriptedClaim(fencedScope(7_000, 'b'), 't', 500, 0))).to.equal(true);
    expect(batchOf(release(plainScope('a'), 't')).add(inspection('c'))).to.equal(false);
  });

  it(`is bounded: ${MAX_EXTENSIONS} extensions of shared locks, half of what touches the queue, or ${MAX_ENTRIES} of anything else`, () => {
    const terms = { ttlMs: 500, mayCreate: true };
    const scope = (of: Kind, i: number): Scope => sharedScope(0, of, `k${i}`);
    const cases: [(i: number) => Request, number][] = [
      [(i) => extension(scope(READ, i), 't', terms), MAX_EXTENSIONS],
      [(i) => extension(scope(permits('0'), i), 't', terms), MAX_EXTENSIONS],
      [(i) => acceptance(scope(WRITE, i), 't', 7), MAX_ENTRIES],
      [(i) => scriptedClaim(scope(READ, i), 't', 500, 0), MAX_ENTRIES / 2], // it may take a place
      [(i) => releaseQueued(scope(permits('0'), i), 't', 0), MAX_ENTRIES / 2], // it may let others in
      [(i) => scriptedClaim(scope(READ, i), 't', 500, 0, LEAN), MAX_ENTRIES],
      [(i) => release(scope(permits('0'), i), 't'), MAX_ENTRIES],
      [(i) => extension(scope(DOWNGRADED, i), 't', terms), MAX_ENTRIES / 2],
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
      [(i: number) => extension(fencedScope(0, `a${i}`), 't', terms), MAX_EXTENSIONS],
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
  const claimed = (command: Command): string[] => entriesOf(command).map(({ args }) => args.proposal ?? '');

  it('is drawn when the call is encoded, and shared by all of them; it stays the same when it is encoded again', () => {
    const from = proposals();
    const claim = (token: string, ...names: string[]): Request =>
      scriptedClaim(fencedScope(0, ...names), token, 500, from);
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
    const claim = (name: string): Request => scriptedClaim(fencedScope(0, name), `t${name}`, 500, from);
    const [a, b, c, d] = [claim('a'), claim('b'), claim('c'), claim('d')];
    expect(claimed(batchOf(b, c).command(false))).to.deep.equal(['1', '1']);
    expect(claimed(batchOf(a, b, c, d).command(false))).to.deep.equal(['2', '1', '1', '2']);
    expect(claimed(batchOf(d, a, b).command(false))).to.deep.equal(['2', '2', '1']);
  });

  it('a claim that goes alone draws its own, once; one without fencing draws none, nor does anything else', () => {
    const from = proposals();
    const alone = scriptedClaim(fencedScope(0, 'a'), 't', 500, from);
    expect([alone.command.args.at(-2), alone.command.args.at(-2), alone.amount]).to.deep.equal(['1', '1', 1]);
    const plain = scriptedClaim({ ...fencedScope(0, 'a'), isFenced: false }, 't', 500, from);
    expect([plain.command.args.at(-2), plain.drawWith(7), plain.amount]).to.deep.equal(['0', 7, 0]);
    const accept = acceptance(fencedScope(0, 'a'), 't', 70);
    expect([accept.drawWith(undefined), accept.amount, from.propose()]).to.deep.equal([undefined, 70, 2]);
  });
});

describe('batch: what is taken from those that wait', () => {
  const asks = (...requests: readonly Request[]): { request: Request }[] =>
    requests.map((request) => ({ request }));
  const tokens = (entries: readonly { request: Request }[]): string =>
    entries.map(({ request }) => request.token).join('');
  const exclusive = (name: string, token: string): Request => release(plainScope(name), token);
  const ofShared = (name: string, token: string): Request => release(sharedScope(0, READ, name), token);
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
    const others = [release(sharedScope(0, READ, 'a'), 't1'), release(sharedScope(0, READ, 'b'), 't2')];
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
