import { expect } from 'chai';
import { Node } from '../../lib/node/node.js';
import { Deliveries } from '../../lib/quorum/deliveries.js';
import { FakeMaster } from '../support/fake-master.js';
import { FakeTime } from '../support/fake-time.js';

const time = new FakeTime();
const [one, other] = [0, 1].map((i) => new Node(new FakeMaster(`m${i + 1}`, time), i, time)) as [Node, Node]; // two

/** What is known of one master. */
const of = (deliveries: Deliveries, node: Node): Record<string, boolean> => ({
  wasSent: deliveries.wasSent(node),
  isInFlight: deliveries.isInFlight(node),
  isFollowed: deliveries.isFollowed(node),
  owes: deliveries.owes(node),
});
const UNSENT = { wasSent: false, isInFlight: false, isFollowed: false, owes: false };
const IN_FLIGHT = { wasSent: true, isInFlight: true, isFollowed: false, owes: true };
const FOLLOWED = { wasSent: true, isInFlight: true, isFollowed: true, owes: false };
const ANSWERED = { wasSent: true, isInFlight: false, isFollowed: false, owes: false };

describe('deliveries of one request to several masters', () => {
  it('unsent, in flight, followed, answered: each master for itself', () => {
    const deliveries = new Deliveries(2);
    expect([of(deliveries, one), deliveries.sent, deliveries.isAnswered]).to.deep.equal([UNSENT, 0, true]);
    deliveries.send(one);
    expect([of(deliveries, one), deliveries.sent, deliveries.isAnswered]).to.deep.equal([
      IN_FLIGHT,
      1,
      false,
    ]);
    expect(deliveries.follow(one)).to.equal(true);
    expect([of(deliveries, one), deliveries.isAnswered]).to.deep.equal([FOLLOWED, false]);
    expect(deliveries.answer(one)).to.equal(true);
    expect([of(deliveries, one), deliveries.sent, deliveries.isAnswered]).to.deep.equal([ANSWERED, 1, true]);
    expect(of(deliveries, other)).to.deep.equal(UNSENT);
  });

  it('sent again after NOSCRIPT: one request, sent to one master, with one answer to come', () => {
    const deliveries = new Deliveries(2);
    deliveries.send(one);
    deliveries.send(one);
    expect(deliveries.sent).to.equal(1);
    deliveries.answer(one);
    expect(deliveries.isAnswered).to.equal(true);
  });

  it('sent again after NOSCRIPT: what followed it does not follow this one', () => {
    const deliveries = new Deliveries(2);
    deliveries.send(one);
    deliveries.follow(one);
    deliveries.send(one);
    expect(of(deliveries, one)).to.deep.equal(IN_FLIGHT);
    deliveries.answer(one);
    expect(deliveries.isAnswered).to.equal(true);
  });

  it('sent again after an answer: another answer is to come', () => {
    const deliveries = new Deliveries(2);
    deliveries.send(one);
    deliveries.answer(one);
    deliveries.send(one);
    expect([deliveries.sent, deliveries.isAnswered]).to.deep.equal([1, false]);
    deliveries.answer(one);
    expect(deliveries.isAnswered).to.equal(true);
  });

  it('a second answer, and an answer or an undo to what was never sent, change nothing', () => {
    const deliveries = new Deliveries(2);
    expect([deliveries.answer(other), deliveries.follow(other)]).to.deep.equal([false, false]);
    deliveries.send(one);
    deliveries.answer(one);
    expect([deliveries.answer(one), deliveries.follow(one)]).to.deep.equal([false, false]);
    expect([of(deliveries, one), of(deliveries, other)]).to.deep.equal([ANSWERED, UNSENT]);
    deliveries.send(other);
    expect(deliveries.follow(other)).to.equal(true);
    expect(deliveries.follow(other)).to.equal(false);
    expect([deliveries.sent, deliveries.isAnswered]).to.deep.equal([2, false]);
  });
});
