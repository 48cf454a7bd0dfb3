/** A stay in the queues of masters: when it begins, what counts as reserved, what is yielded, how it ends. */
import { expect } from 'chai';
import type { Ask } from '../../lib/node/node.js';
import { turnKey } from '../../lib/protocol/keys.js';
import { gate, holdReplies, kindOf } from '../support/commands.js';
import { entriesOf } from '../support/entries.js';
import type { FakeMaster } from '../support/fake-master.js';
import { settle } from '../support/fake-time.js';
import {
  askedAt,
  hold,
  kindsOf,
  letGo,
  MINE,
  OTHER,
  placesOf,
  queueAs,
  type QueueBench,
  queueBench,
  THIRD,
  type Waiter,
  waitIn,
} from '../support/queue-bench.js';

const SIZES = [1, 2, 3, 4, 5];
const quorumOf = (nodes: number): number => Math.floor(nodes / 2) + 1;

interface Started extends QueueBench, Waiter {
  readonly m1: FakeMaster;
}

/** All masters are held by another, and it waits at each; the first one is at hand. */
async function inQueue(
  nodes = 3,
  prepare: (masters: readonly FakeMaster[]) => unknown = held,
): Promise<Started> {
  const environment = queueBench(nodes);
  const [m1] = environment.masters;
  if (m1 === undefined) throw new Error('there is one');
  await prepare(environment.masters);
  const waiter = waitIn(environment);
  await settle();
  return { ...environment, ...waiter, m1 };
}

function held(masters: readonly FakeMaster[]): void {
  for (const master of masters) hold(master);
}

const kinds = ({ stay }: Waiter): (string | undefined)[] => stay.outcomes.map((outcome) => outcome?.kind);

/** It answers the next request for a place by a refusal that names no rank. */
function odd(master: FakeMaster | undefined): { isOver: boolean } {
  const state = { isOver: false };
  if (master === undefined) throw new Error('there is one');
  const send = master.call.bind(master);
  master.call = (command) => {
    if (kindOf(command) !== 'queue') return send(command);
    master.call = send;
    state.isOver = true;
    return Promise.resolve([[0, 300_000, 0]]);
  };
  return state;
}

/** The serial that a push to that token named last. */
function serialsTo(master: FakeMaster): number[] {
  const serials: number[] = [];
  const { connection } = master;
  const tell = connection.tell.bind(connection);
  connection.tell = (text) => {
    const [, serial] = /^[gi] (\d+)/.exec(text) ?? [];
    if (serial !== undefined) serials.push(Number(serial));
    tell(text);
  };
  return serials;
}

/** Yields are lost with their connection until the returned function is called; it is there again at once. */
function loseYields(master: FakeMaster): () => void {
  const send = master.call.bind(master);
  master.call = (command) => {
    if (kindOf(command) !== 'yield') return send(command);
    master.sent.push(...entriesOf(command));
    return Promise.reject(new Error('Connection is closed.'));
  };
  return () => (master.call = send);
}

/** It answers the first request for a place as one that may have forgotten votes. */
function quarantine(master: FakeMaster): void {
  const send = master.call.bind(master);
  master.call = (command) =>
    kindOf(command) === 'queue' ? Promise.resolve([[-1, 5_000, 0]]) : send(command);
}

describe('queue wait', () => {
  for (const nodes of SIZES) {
    it(`N=${nodes}: asks for a place once push connections to a quorum are open, and other masters when theirs open`, async () => {
      const environment = queueBench(nodes);
      for (const master of environment.masters) {
        hold(master);
        master.opensLines = false;
      }
      const { stay } = waitIn(environment);
      for (const [i, { connection }] of environment.masters.entries()) {
        expect(stay.sentTo.length).to.equal(i < quorumOf(nodes) ? 0 : i);
        connection.open();
        await settle();
      }
      expect(environment.masters.map((master) => kindsOf(master))).to.deep.equal(
        environment.masters.map(() => ['queue']),
      );
      expect(stay.sentTo).to.deep.equal(environment.nodes);
      stay.end();
    });

    it(`N=${nodes}: is over when a quorum is reserved by pushes, and no sooner`, async () => {
      const { ends, masters, stay } = await inQueue(nodes);
      for (const [i, master] of masters.entries()) {
        expect(ends).to.deep.equal(i < quorumOf(nodes) ? [] : ['reserved']);
        await letGo(master);
        await settle();
        expect(master.value('r')).to.equal(`${MINE}+`);
      }
      expect([ends, stay.wasRefused]).to.deep.equal([['reserved'], true]);
    });

    it(`N=${nodes}: is over at once if the lock is free`, async () => {
      const { ends, stay } = await inQueue(nodes, () => undefined);
      expect([ends, stay.wasRefused]).to.deep.equal([['reserved'], false]);
    });

    it(`N=${nodes}: foreign clients on too many masters end it with foreign-client`, async () => {
      const spare = nodes - quorumOf(nodes);
      for (const foreignClients of [spare, spare + 1]) {
        const { ends, stay } = await inQueue(nodes, (masters) => {
          held(masters);
          for (const master of masters.slice(0, foreignClients)) master.set('r', 'a foreign client', 300_000);
        });
        expect(ends).to.deep.equal(foreignClients > spare ? ['foreign-client'] : []);
        stay.end();
      }
    });

    it(`N=${nodes}: too few masters that take part end it as hopeless`, async () => {
      const spare = nodes - quorumOf(nodes);
      for (const broken of [spare, spare + 1]) {
        const { ends, stay } = await inQueue(nodes, (masters) => {
          held(masters);
          for (const master of masters.slice(0, broken)) master.setForeign('r');
        });
        expect(ends).to.deep.equal(broken > spare ? ['hopeless'] : []);
        stay.end();
      }
    });
  }

  it('N=3: a foreign client among the masters that take no part ends it with foreign-client', async () => {
    const { ends } = await inQueue(3, ([m1, m2]) => {
      m1?.set('r', 'a foreign client');
      m2?.setForeign('r');
    });
    expect(ends).to.deep.equal(['foreign-client']);
  });

  it('N=3: masters in quarantine take no part: it is hopeless if they are too many', async () => {
    for (const quarantined of [1, 2]) {
      const { ends, stay } = await inQueue(3, (masters) => {
        held(masters);
        for (const master of masters.slice(0, quarantined)) quarantine(master);
      });
      expect(ends).to.deep.equal(quarantined === 1 ? [] : ['hopeless']);
      stay.end();
    }
  });

  for (const nodes of [1, 3]) {
    it(`N=${nodes}, a quorum is lost as it asks for a place: it is hopeless at once, and asks nobody else`, async () => {
      const environment = queueBench(nodes);
      held(environment.masters);
      environment.subscriptions.enter(`${MINE}0`, {
        onPush: () => undefined,
        onOpen: () => undefined,
        onClosed: () => undefined,
      });
      await settle(); // connections are open
      const lost = environment.masters.slice(0, quorumOf(nodes));
      for (const master of lost) master.state = 'lost';
      const { ends } = waitIn(environment);
      environment.subscriptions.leave(`${MINE}0`);
      await settle();
      expect(ends).to.deep.equal(['hopeless']);
      expect(environment.masters.flatMap((master) => kindsOf(master))).to.deep.equal([]);
      expect(environment.time.pending).to.equal(1); // the one that closes the connections
    });
  }

  it('N=3: masters that are asked at about the same time are sent the same command', async () => {
    for (const [afterMs, isSame] of [
      [499, true],
      [500, false],
    ] as const) {
      const environment = queueBench(3);
      held(environment.masters);
      const [m1, m2, m3] = environment.masters as [FakeMaster, FakeMaster, FakeMaster];
      m3.opensLines = false;
      const { stay } = waitIn(environment);
      await environment.time.advance(afterMs);
      m3.connection.open();
      await settle();
      const [first, second, third] = [m1, m2, m3].map(({ sent }) =>
        sent.find((command) => kindOf(command) === 'queue'),
      );
      expect([first === second, first === third]).to.deep.equal([true, isSame]);
      stay.end();
    }
  });

  it('N=3: a master that is asked late has the same ticket', async () => {
    const environment = queueBench(3);
    held(environment.masters);
    const [, , m3] = environment.masters;
    if (m3 === undefined) throw new Error('there is one');
    m3.opensLines = false;
    const { stay } = waitIn(environment, { ticket: 77 });
    await environment.time.advance(30_000);
    m3.connection.open();
    await settle();
    expect(placesOf(m3, 'queue').map(([ticket]) => ticket)).to.deep.equal(['77']);
    stay.end();
  });

  it('N=3: a vote that is handed over after its end is declined, unless it has won', async () => {
    for (const [end, isDeclined] of [
      ['ended', true],
      ['hopeless', true],
      ['foreign-client', true],
      ['reserved', false],
      ['granted', false],
    ] as const) {
      const { m1, stay } = await inQueue();
      stay.end(end);
      m1.connection.tell(`g ${m1.micros()} ${MINE} r`);
      expect(kindsOf(m1), end).to.deep.equal(isDeclined ? ['queue', 'yield'] : ['queue']);
    }
  });

  it('N=3: its end drops what is unsent, its timer and its token, and settles once', async () => {
    const { ends, masters, stay, time } = await inQueue();
    stay.end();
    stay.end('foreign-client');
    expect(time.pending).to.equal(1); // the one that closes the connections
    await settle();
    expect([ends, stay.isWanted]).to.deep.equal([['ended'], false]);
    await time.advance(5_000);
    expect(masters.map(({ connection }) => connection.isClosed)).to.deep.equal(masters.map(() => true));
    expect([time.pending, masters.map((master) => kindsOf(master))]).to.deep.equal([
      0,
      masters.map(() => ['queue']),
    ]);
  });
});

describe('queue wait: reservations', () => {
  for (const afterMs of [0, 1]) {
    it(`a refusal that a push overtook is ignored, ${afterMs} ms later by the master's clock`, async () => {
      const environment = queueBench(3);
      held(environment.masters);
      const [m1] = environment.masters as [FakeMaster];
      const arrive = holdReplies(m1, 'queue');
      const waiter = waitIn(environment);
      await environment.time.advance(afterMs);
      await letGo(m1);
      arrive();
      await settle();
      expect(kinds(waiter)).to.deep.equal(['granted', 'refused', 'refused']);
      waiter.stay.end();
    });
  }

  it('a newer refusal is not: the reservation is gone', async () => {
    const started = await inQueue();
    const { m1, stay, time } = started;
    await letGo(m1);
    await settle();
    expect(kinds(started)[0]).to.equal('granted');
    hold(m1, THIRD);
    await time.advance(496); // it asks again after half of the reservation
    expect(kinds(started)[0]).to.equal('refused');
    stay.end();
  });

  it('a refusal that says nothing of the place is one all the same: it may be told by pushes, and asks again as the first', async () => {
    const started = await inQueue(3, (masters) => {
      held(masters);
      odd(masters[0]);
    });
    const { m1, stay, time } = started;
    const instants = askedAt(m1, time);
    await time.advance(2_000);
    expect([instants, kinds(started)[0]]).to.deep.equal([[1_750], 'refused']);
    const odder = odd(m1);
    await letGo(m1);
    expect(kinds(started)[0]).to.equal('granted');
    await time.advance(496); // it asks again after half of the reservation
    expect([odder.isOver, kinds(started)[0]]).to.deep.equal([true, 'refused']);
    m1.connection.tell(`g ${m1.micros()} ${MINE} r`);
    expect(kinds(started)[0]).to.equal('granted');
    stay.end();
  });

  it('a push about a lock that could be entered means nothing to it', async () => {
    const started = await inQueue();
    started.m1.connection.tell(`f ${MINE} r`);
    await settle();
    expect([started.ends, kinds(started)]).to.deep.equal([[], ['refused', 'refused', 'refused']]);
    started.stay.end();
  });

  it('a push from before a refusal is ignored, and one that came after it is not', async () => {
    const started = await inQueue();
    const { m1, stay, time } = started;
    const before = m1.micros() - 1;
    m1.connection.tell(`g ${before} ${MINE} r`);
    expect(kinds(started)[0]).to.equal('refused');
    await time.advance(1);
    m1.connection.tell(`g ${m1.micros()} ${MINE} r`);
    expect(kinds(started)[0]).to.equal('granted');
    stay.end();
  });

  it('a reservation is renewed before it expires, as long as there is no quorum', async () => {
    const started = await inQueue();
    const { m1, stay, time } = started;
    await letGo(m1);
    for (let turn = 0; turn < 10; turn++) {
      await time.advance(400);
      expect(m1.value('r')).to.equal(`${MINE}+`);
    }
    expect(kinds(started)).to.deep.equal(['granted', 'refused', 'refused']);
    stay.end();
  });

  it('its renewal asks that master alone, and a look at the others does not ask that one', async () => {
    const { m1, masters, stay, time } = await inQueue();
    await letGo(m1);
    const instants = masters.map((master) => askedAt(master, time));
    await time.advance(2_000);
    expect(instants).to.deep.equal([[495, 990, 1_485, 1_980], [1_750], [1_750]]);
    stay.end();
  });
});

describe('queue wait: yielding', () => {
  it('without a quorum it yields the vote to an earlier ticket, and queues there with the same ticket', async () => {
    const started = await inQueue();
    const { m1, stay, time } = started;
    await letGo(m1);
    await time.advance(10);
    const told = await queueAs(m1, THIRD, 5);
    await settle();
    expect([m1.value('r'), told, kinds(started)[0]]).to.deep.equal([`${THIRD}+`, ['g'], 'refused']);
    const [, ticket, lifeMs] = placesOf(m1, 'yield')[0] ?? [];
    expect([ticket, Number(lifeMs)]).to.deep.equal(['1000', 60_000]);
    expect(m1.members('quorate:queue:{r}')).to.deep.equal([{ name: MINE, score: 1_000 }]);
    stay.end();
  });

  it('a yield is urgent: it waits for no other request to share its call', async () => {
    const { m1, nodes, stay, time } = await inQueue();
    const [node] = nodes;
    if (node === undefined) throw new Error('there is one');
    const asks: Ask[] = [];
    const send = node.send.bind(node);
    node.send = (ask) => {
      asks.push(ask);
      send(ask);
    };
    await letGo(m1);
    await time.advance(10);
    await queueAs(m1, THIRD, 5);
    await settle();
    expect([kindsOf(m1).at(-1), asks.map(({ isUrgent }) => isUrgent)]).to.deep.equal(['yield', [true]]);
    stay.end();
  });

  it('one that has yielded has met others, though every master gave its vote at once', async () => {
    const environment = queueBench(3);
    const [m1, ...others] = environment.masters as [FakeMaster, FakeMaster, FakeMaster];
    const late = others.map((master) => holdReplies(master, 'queue'));
    const { ends, stay } = waitIn(environment);
    await environment.time.advance(10);
    expect(stay.wasRefused).to.equal(false);
    await queueAs(m1, THIRD, 5);
    await settle();
    for (const arrive of late) arrive();
    await settle();
    expect([ends, stay.wasRefused]).to.deep.equal([['reserved'], true]);
  });

  it('an earlier ticket behind a later one asks for nothing if it waits for the holder', async () => {
    const { m1, stay } = await inQueue();
    const told = await queueAs(m1, THIRD, 5);
    await settle();
    expect([told, kindsOf(m1)]).to.deep.equal([[], ['queue']]);
    stay.end();
  });

  it('with a quorum it yields nothing, whether the inquiry comes before or after', async () => {
    const { ends, m1, masters } = await inQueue();
    const [, m2] = masters as [FakeMaster, FakeMaster];
    await letGo(m1);
    await settle();
    const serial = m2.micros() + 1;
    m2.connection.tell(`i ${serial} ${MINE} r`); // it overtook what it is about
    m2.connection.tell(`g ${serial} ${MINE} r`);
    await settle();
    expect(ends).to.deep.equal(['reserved']);
    m2.connection.tell(`i ${serial} ${MINE} r`);
    await settle();
    expect(masters.map((master) => kindsOf(master))).to.deep.equal(masters.map(() => ['queue']));
  });

  it('an inquiry that comes before the reply with the reservation takes effect with the reply', async () => {
    const environment = queueBench(3);
    const [m1, ...others] = environment.masters as [FakeMaster, FakeMaster, FakeMaster];
    held(others);
    const arrive = holdReplies(m1, 'queue');
    const { stay } = waitIn(environment);
    await environment.time.advance(1);
    void queueAs(m1, THIRD, 5);
    await settle();
    expect(kindsOf(m1)).to.deep.equal(['queue']);
    arrive();
    await settle();
    expect([kindsOf(m1), m1.value('r')]).to.deep.equal([['queue', 'yield'], `${THIRD}+`]);
    stay.end();
  });

  it('an inquiry about another reservation does not concern this one', async () => {
    const started = await inQueue();
    const { m1, stay } = started;
    const serials = serialsTo(m1);
    await letGo(m1);
    await settle();
    m1.connection.tell(`i ${(serials[0] ?? 0) - 1} ${MINE} r`);
    await settle();
    expect([kindsOf(m1), kinds(started)[0]]).to.deep.equal([['queue'], 'granted']);
    stay.end();
  });

  it('messages about a reservation that was yielded are stale: grant and inquiry', async () => {
    const started = await inQueue();
    const { m1, stay, time } = started;
    const serials = serialsTo(m1);
    await letGo(m1);
    await queueAs(m1, THIRD, 5);
    await settle();
    const [yielded = 0] = serials;
    expect(kindsOf(m1)).to.deep.equal(['queue', 'yield']);
    m1.connection.tell(`g ${yielded} ${MINE} r`);
    expect(kinds(started)[0]).to.equal('refused');
    await time.advance(10);
    const next = m1.micros();
    m1.connection.tell(`i ${next} ${MINE} r`); // early
    m1.connection.tell(`i ${yielded} ${MINE} r`); // stale, and must not make it forget the early one
    m1.connection.tell(`g ${next} ${MINE} r`);
    await settle();
    expect(kindsOf(m1)).to.deep.equal(['queue', 'yield', 'yield']);
    expect(placesOf(m1, 'yield').map(([serial]) => Number(serial))).to.deep.equal([yielded, next]);
    stay.end();
  });

  it('a vote that was yielded is asked for again when the reservation of the other is over', async () => {
    const { m1, stay, time } = await inQueue();
    const serials = serialsTo(m1);
    await letGo(m1);
    m1.deliversPushes = false; // neither is it told that it is the first again
    await queueAs(m1, THIRD, 5);
    m1.connection.tell(`i ${serials[0]} ${MINE} r`);
    await settle();
    m1.forget(); // the other one is gone, and so is the queue
    await time.advance(1_000);
    expect([kindsOf(m1), m1.value('r')]).to.deep.equal([['queue', 'yield', 'queue'], `${MINE}+`]);
    stay.end();
  });

  it('a yield that is lost with its connection is sent again with each look that still shows the reservation', async () => {
    const started = await inQueue(5, (masters) => {
      for (const [i, master] of masters.entries()) master.set('r', OTHER, [300_000, 400, 800][i] ?? 300_000);
    });
    const { m1, stay, time } = started;
    await letGo(m1);
    const arrive = loseYields(m1);
    const told = await queueAs(m1, THIRD, 5);
    await settle();
    expect([kindsOf(m1), kinds(started)[0]]).to.deep.equal([['queue', 'yield'], 'refused']);
    await time.advance(410); // the second master's lock runs out: it looks at all
    expect([kindsOf(m1).slice(2), kinds(started)[0]]).to.deep.equal([['queue', 'yield'], 'refused']);
    arrive();
    await time.advance(400);
    expect(kindsOf(m1).slice(4)).to.deep.equal(['queue', 'yield']);
    expect([m1.value('r'), told]).to.deep.equal([`${THIRD}+`, ['g']]);
    expect(new Set(placesOf(m1, 'yield').map((place) => place.join('|'))).size).to.equal(1);
    stay.end();
  });

  it('a look that was sent before the yield says nothing about it: the yield is not sent again', async () => {
    const { m1, stay, time } = await inQueue();
    await letGo(m1);
    m1.latencyMs = 20;
    const [serial] = m1.value(turnKey('r'))?.split('|') ?? [];
    await time.advance(496); // it asks again after half of the reservation, and is answered 20 ms later
    void queueAs(m1, THIRD, 5);
    m1.connection.tell(`i ${serial} ${MINE} r`);
    expect(kindsOf(m1)).to.deep.equal(['queue', 'queue', 'yield']);
    await time.advance(30);
    expect([kindsOf(m1), m1.value('r')]).to.deep.equal([['queue', 'queue', 'yield'], `${THIRD}+`]);
    await time.advance(100);
    expect(kindsOf(m1)).to.deep.equal(['queue', 'queue', 'yield']);
    stay.end();
  });

  it('nor does it take back a later reservation', async () => {
    const started = await inQueue();
    const { m1, stay, time } = started;
    await letGo(m1);
    const [serial] = m1.value(turnKey('r'))?.split('|') ?? [];
    const arrive = holdReplies(m1, 'queue');
    await time.advance(496);
    m1.connection.tell(`i ${serial} ${MINE} r`); // from one that has gone: it is handed the vote again
    await settle();
    expect([kindsOf(m1), kinds(started)[0]]).to.deep.equal([['queue', 'queue', 'yield'], 'granted']);
    arrive();
    await settle();
    expect([kindsOf(m1), kinds(started)[0]]).to.deep.equal([['queue', 'queue', 'yield'], 'granted']);
    stay.end();
  });

  it('N=3, three waiters that came first at one master each: two yield, and no timer is needed', async () => {
    const first = queueBench(3);
    const grounds = [first, queueBench(3, first), queueBench(3, first)];
    const idle = { onPush: () => undefined, onOpen: () => undefined, onClosed: () => undefined };
    const tokens = [MINE, OTHER, THIRD];
    for (const [i, { subscriptions }] of grounds.entries()) subscriptions.enter(`${tokens[i]}0`, idle);
    await settle(); // all connections are open
    const gates = first.masters.map((master) => gate(master));
    const waiters = grounds.map((environment, i) =>
      waitIn(environment, { token: tokens[i] ?? '', ticket: i + 1 }),
    );
    for (const [i, onTheirWay] of gates.entries()) {
      const at = onTheirWay.findIndex(({ token }) => token === tokens[i]);
      for (const one of onTheirWay.splice(at, 1)) one.run();
    }
    await settle();
    expect(first.masters.map((master) => master.value('r'))).to.deep.equal(tokens.map((one) => `${one}+`));
    for (let step = 0; step < 10; step++) {
      for (const onTheirWay of gates) for (const { run } of onTheirWay.splice(0)) run();
      await settle();
    }
    expect(waiters.map(({ ends }) => ends)).to.deep.equal([['reserved'], [], []]);
    for (const { stay } of waiters) stay.end();
  });
});
