import { expect } from 'chai';
import { LoopTurn } from '../../lib/node/batch.js';
import { Node, type Sink, type Withdrawn } from '../../lib/node/node.js';
import { BATCH } from '../../lib/protocol/lua/scripts.js';
import { SILENT_WINDOW, WINDOW } from '../../lib/node/send-window.js';
import {
  acceptance,
  extension,
  plainClaim,
  release,
  type Request,
  scriptedClaim,
  undo,
} from '../../lib/protocol/request.js';
import { keysOf, kindsSentTo, plainScope } from '../support/commands.js';
import { FakeMaster, serverError } from '../support/fake-master.js';
import { FakeTime, settle } from '../support/fake-time.js';
import { READ } from '../../lib/protocol/scope.js';

/** Writes down what it is told. */
class Notes implements Sink, Withdrawn {
  isWanted = true;
  sent = 0;
  #isFollowed = false;
  readonly replies: unknown[] = [];
  readonly failures: string[] = [];

  onSent(): void {
    this.sent++;
  }

  follow(): boolean {
    if (this.#isFollowed || this.sent === 0 || this.replies.length > 0) return false;
    this.#isFollowed = true;
    return true;
  }

  owes(): boolean {
    return !this.#isFollowed && this.sent > 0 && this.replies.length === 0;
  }

  drop(): void {
    this.isWanted = false;
  }

  onReply(_node: Node, reply: unknown): void {
    this.replies.push(reply);
  }

  onFailure(_node: Node, cause: Error): void {
    this.failures.push(cause.message);
  }
}

interface Ground {
  readonly time: FakeTime;
  readonly master: FakeMaster;
  readonly node: Node;
  send(request: Request): Notes;
  claims(count: number): Notes[];
}

function environment(turn?: LoopTurn): Ground {
  const time = new FakeTime();
  const master = new FakeMaster('m1', time);
  const node = new Node(master, 0, time, turn);
  let claimed = 0;
  const send = (request: Request): Notes => {
    const notes = new Notes();
    node.send({ request, sink: notes });
    return notes;
  };
  const claims = (count: number): Notes[] =>
    Array.from({ length: count }, () =>
      send(plainClaim(plainScope(`k${++claimed}`), `token-${claimed}`, 30_000)),
    );
  return { time, master, node, send, claims };
}

const names = (master: FakeMaster): string[] => master.sent.map(({ command }) => command.name);

describe('node: one master', () => {
  it('sends at once behind no more than one other; what comes behind more goes in one call at the end of the turn of the event loop', async () => {
    const { master, node, claims } = environment();
    const [first, second, third, fourth] = claims(4);
    expect(names(master)).to.deep.equal(['set', 'set']);
    expect([node.window.inFlight, node.waiting]).to.deep.equal([2, 2]);
    await settle();
    expect(master.sent.map((command) => keysOf(command)[0])).to.deep.equal(['k1', 'k2', 'k3', 'k4']);
    expect(master.calls).to.equal(3);
    expect(node.window.inFlight).to.equal(0);
    expect([first?.replies, second?.replies]).to.deep.equal([['OK'], ['OK']]);
    expect([third?.replies, fourth?.replies]).to.deep.equal([[[1, 0, 0]], [[1, 0, 0]]]);
  });

  it('what many ask for as they are answered together goes in one call, the first of them included', async () => {
    const { master, node, claims } = environment();
    const others: Notes[] = [];
    class Asking extends Notes {
      override onReply(of: Node, reply: unknown): void {
        super.onReply(of, reply);
        others.push(...claims(1));
      }
    }
    for (const key of ['a', 'b'])
      node.send({ request: plainClaim(plainScope(key), key, 30_000), sink: new Notes() });
    for (const key of ['c', 'd', 'e'])
      node.send({ request: plainClaim(plainScope(key), key, 30_000), sink: new Asking() });
    await settle();
    expect(others.map(({ replies }) => replies)).to.deep.equal([[[1, 0, 0]], [[1, 0, 0]], [[1, 0, 0]]]);
    expect(master.calls, 'two alone, three in one call, what they asked for next in another').to.equal(4);
    claims(1);
    expect(names(master).at(-1), 'at once again, in the next turn').to.equal('set');
  });

  it('calls of several kinds go out together, those of one kind as they are', async () => {
    const { master, node, claims } = environment();
    const together: number[] = [];
    Object.assign(master, {
      together: (calls: () => void) => {
        const before = master.calls;
        calls();
        together.push(master.calls - before);
      },
    });
    claims(4);
    await settle();
    expect(together).to.deep.equal([]);
    claims(4);
    const shared = { ...plainScope('readers'), kind: READ };
    for (const token of ['a', 'b'])
      node.send({ request: scriptedClaim(shared, token, 30_000, 0), sink: new Notes() });
    await settle();
    expect(together, 'two at once, and two calls for the four others').to.deep.equal([2]);
  });

  it('the only master gets a crowd of 32 in two calls, one of several in one', async () => {
    const callsOf = async (masters: number, requests: number): Promise<number> => {
      const turn = new LoopTurn(masters);
      const { master, claims } = environment(turn);
      turn.crowd();
      claims(requests);
      await settle();
      expect(master.run.length).to.equal(requests);
      return master.calls;
    };
    expect([await callsOf(1, 31), await callsOf(1, 32), await callsOf(3, 32)]).to.deep.equal([1, 2, 1]);
  });

  it(`has at most ${WINDOW} requests in flight; the rest waits and is sent as answers come`, async () => {
    const { master, node, claims } = environment();
    master.manner = 'freeze';
    claims(WINDOW + 20);
    await settle();
    expect(node.window.inFlight).to.equal(WINDOW);
    expect(node.waiting).to.equal(20);
    master.thaw();
    await settle();
    expect([node.window.inFlight, node.waiting]).to.deep.equal([0, 0]);
    expect(master.run.length).to.equal(WINDOW + 20);
  });

  it(`has at most ${SILENT_WINDOW} in flight once an attempt waited for it in vain`, async () => {
    const { master, node, claims } = environment();
    master.manner = 'freeze';
    claims(1);
    node.markSilent();
    claims(100);
    await settle();
    expect(node.window.inFlight).to.equal(SILENT_WINDOW);
    expect(node.isHealthy).to.equal(false);
  });

  it('finds silence out by itself when all attempts got their quorum elsewhere', async () => {
    const { master, node, time, claims } = environment();
    master.manner = 'freeze';
    claims(SILENT_WINDOW + 1);
    for (let i = 0; i < 4; i++) {
      await settle();
      time.stall(50);
      claims(1);
    }
    await settle();
    time.stall(1);
    claims(1_000);
    await settle();
    expect(node.window.inFlight).to.equal(SILENT_WINDOW + 5);
    expect(node.isHealthy).to.equal(false);
  });

  it('is healthy again, with all of its room, after one answer', async () => {
    const { master, node, claims } = environment();
    master.manner = 'freeze';
    claims(1);
    node.markSilent();
    master.thaw();
    await settle();
    expect(node.isHealthy).to.equal(true);
    master.manner = 'freeze';
    claims(100);
    await settle();
    expect(node.window.inFlight).to.equal(100);
  });

  it('drops what its attempt no longer wants, unsent', async () => {
    const { master, node, claims } = environment();
    master.manner = 'freeze';
    claims(SILENT_WINDOW);
    await settle();
    node.markSilent();
    const [given, kept] = claims(2);
    if (given === undefined || kept === undefined) throw new Error('two were sent');
    expect(node.forget(given)).to.equal(true);
    expect(node.waiting).to.equal(1);
    master.thaw();
    await settle();
    expect([given.sent, kept.sent]).to.deep.equal([0, 1]);
  });

  it('drops what waits for room when nobody wants it by the time there is some', async () => {
    const { master, node, claims } = environment();
    master.manner = 'freeze';
    claims(SILENT_WINDOW);
    await settle();
    node.markSilent();
    const [late] = claims(1);
    if (late === undefined) throw new Error('one was sent');
    late.isWanted = false;
    master.thaw();
    await settle();
    expect([late.sent, node.waiting]).to.deep.equal([0, 0]);
  });

  it('sends the undo of a claim in flight past the window, behind the claim (rule 5)', async () => {
    const { master, node, claims } = environment();
    master.manner = 'freeze';
    const sent = claims(SILENT_WINDOW);
    await settle();
    node.markSilent();
    for (const [i, notes] of sent.entries()) {
      node.withdraw({ request: undo(plainScope(`k${i + 1}`), `token-${i + 1}`), sink: new Notes() }, [notes]);
    }
    await settle();
    expect(kindsSentTo(master)).to.deep.equal([
      ...Array.from({ length: SILENT_WINDOW }, () => 'claim'),
      ...Array.from({ length: SILENT_WINDOW }, () => 'undo'),
    ]);
  });

  it('sends one undo past the window for each claim, not more', async () => {
    const { master, node, claims } = environment();
    master.manner = 'freeze';
    const sent = claims(SILENT_WINDOW).slice(0, 1);
    await settle();
    node.markSilent();
    node.withdraw({ request: undo(plainScope('k1'), 'token-1'), sink: new Notes() }, sent);
    node.withdraw({ request: undo(plainScope('k1'), 'token-1'), sink: new Notes() }, sent);
    await settle();
    expect([node.window.inFlight, node.waiting]).to.deep.equal([SILENT_WINDOW + 1, 1]);
  });
});

describe('node: a script that the master does not know (rule 11)', () => {
  const cases: [string, Request][] = [
    ['a claim', scriptedClaim(plainScope('a', 'b'), 'token', 30_000, 0)],
    ['an extension', extension(plainScope('a'), 'token', { ttlMs: 30_000, mayCreate: true })],
    ['a release', release(plainScope('a'), 'token')],
  ];
  for (const [title, request] of cases) {
    it(`${title} is sent again, whole, and its answer is the answer`, async () => {
      const { master, node, send } = environment();
      node.introductions.introduces(BATCH);
      if (request.script !== undefined) node.introductions.introduces(request.script);
      master.knowsScripts = false;
      const notes = send(request);
      await settle();
      expect(names(master)).to.deep.equal(['evalsha', 'eval']);
      expect([notes.replies.length, notes.failures]).to.deep.equal([1, []]);
    });
  }

  it('the first release carries the source: its process may end before a second round trip', async () => {
    const { master, send } = environment();
    const back = release(plainScope('a'), 'token');
    send(back);
    await settle();
    send(back);
    await settle();
    expect(names(master)).to.deep.equal(['eval', 'evalsha']);
  });

  it('the first extension carries the source, by each script: it may have no time for a second round trip', async () => {
    const { master, send } = environment();
    const extend = extension(plainScope('a'), 'token', { ttlMs: 30_000, mayCreate: true });
    send(extend);
    await settle();
    send(extend);
    await settle();
    send(extension({ ...plainScope('s'), kind: READ }, 'token', { ttlMs: 30_000, mayCreate: true }));
    await settle();
    expect(names(master)).to.deep.equal(['eval', 'evalsha', 'eval']);
    master.manner = 'freeze';
    const calls: string[] = [];
    const call = master.call.bind(master);
    master.call = (command) => {
      calls.push(command.name);
      return call(command);
    };
    for (let i = 0; i < 2; i++) {
      for (let n = 0; n < 4; n++) send(extend); // the first two go at once
      await settle();
    }
    expect(calls).to.deep.equal(['evalsha', 'evalsha', 'evalsha', 'evalsha']); // many go by the same script
  });

  it('the first extension does so in a call with others as well, whatever that script carried before', async () => {
    const { claims, master, send } = environment();
    master.manner = 'freeze';
    const extend = extension(plainScope('a'), 'token', { ttlMs: 30_000, mayCreate: true });
    for (const first of [false, true, true]) {
      claims(4); // the first two go at once
      if (first) send(extend);
      await settle();
    }
    const calls = new Set(master.sent.map(({ command }) => command));
    const scripts = [...calls].map(({ name }) => name).filter((name) => name !== 'set');
    expect(scripts).to.deep.equal(['evalsha', 'eval', 'evalsha']);
  });

  it('what has no short way is answered as the only entry of a batch: in full, or by an error of its own', async () => {
    const { master, send } = environment();
    const extend = extension(plainScope('a'), 'token', { ttlMs: 30_000, mayCreate: true });
    const done = send(extend);
    await settle();
    master.replies.push([0, 7, 0], '!OOM command not allowed', undefined);
    const refused = send(extend);
    await settle();
    const failed = send(extend);
    await settle();
    const odd = send(extend);
    await settle();
    expect([done, refused, odd].map(({ replies }) => replies)).to.deep.equal([
      [[1, 0, 0]],
      [[0, 7, 0]],
      [undefined],
    ]);
    expect([failed.replies, failed.failures]).to.deep.equal([[], ['OOM command not allowed']]);
  });

  it('such a batch of one has no crowd behind it: what its caller sends next goes at once', async () => {
    const { claims, master, send } = environment();
    const one = send(acceptance(plainScope('a'), 'token', 7));
    let sent: string[] = [];
    one.onReply = () => {
      claims(1);
      sent = names(master);
    };
    await settle();
    expect(sent).to.deep.equal(['evalsha', 'set']);
  });

  it('a claim is not sent again once nobody waits for it: it would overtake its undo (rule 5)', async () => {
    const { master, node, send } = environment();
    master.knowsScripts = false;
    master.manner = 'freeze';
    const notes = send(scriptedClaim(plainScope('a'), 'token', 30_000, 0));
    notes.isWanted = false;
    node.withdraw({ request: undo(plainScope('a'), 'token'), sink: new Notes() }, [notes]);
    master.thaw();
    await settle();
    expect(kindsSentTo(master)).to.deep.equal(['claim', 'undo', 'lesson']); // on no keys: it is known next time
    expect(master.value('a')).to.equal(undefined);
  });

  it('a release is sent again even when its caller went on: the vote must go', async () => {
    const { master, send } = environment();
    master.set('a', 'token', 30_000);
    master.knowsScripts = false;
    master.manner = 'freeze';
    const notes = send(release(plainScope('a'), 'token'));
    notes.isWanted = false;
    master.thaw();
    await settle();
    expect(master.value('a')).to.equal(undefined);
  });

  it('a master that never learns it is asked twice, not for ever', async () => {
    const { master, send } = environment();
    master.replies.push(serverError('NOSCRIPT No matching script.'), serverError('ERR no scripts here'));
    const notes = send(scriptedClaim(plainScope('a'), 'token', 30_000, 0));
    await settle();
    expect(notes.failures).to.deep.equal(['ERR no scripts here']);
    expect(master.sent.length).to.equal(2);
  });
});

describe('node: texts of errors', () => {
  it('never hold the token, wherever the server or the client put it', async () => {
    const { master, send } = environment();
    const error = Object.assign(
      serverError("ERR unknown command, with args beginning with: 'k' 'c:secret' "),
      {
        command: { name: 'set', args: ['k', 'c:secret', 'PX', '30000', 'NX'] },
      },
    );
    master.replies.push(error);
    const notes = send(plainClaim(plainScope('k'), 'c:secret', 30_000));
    await settle();
    expect(notes.failures.join()).to.contain('unknown command').and.not.contain('secret');
    expect(JSON.stringify(error.command) + error.stack).to.not.contain('secret');
  });
});
