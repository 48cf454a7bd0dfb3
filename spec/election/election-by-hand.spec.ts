/** An election by itself: what a campaign makes of a lease that is lost at once, and what is told of whom. */
import { tracingChannel } from 'node:diagnostics_channel';
import { expect } from 'chai';
import { electionOf } from '../../lib/election/election.js';
import type { Election } from '../../lib/election/public.js';
import { SeenLeaders } from '../../lib/election/leaders.js';
import { NOTE_WRITE } from '../../lib/protocol/lua/scripts.js';
import { scriptOf } from '../../lib/testing/master/execution.js';
import type { LeadMessage } from '../../lib/telemetry/channels.js';
import { answered, FakeCoordination } from '../support/fake-coordination.js';
import { settle } from '../support/fake-time.js';
import { rejection } from '../support/rejection.js';

interface Bench extends FakeCoordination {
  readonly election: Election;
  /** The leader's fencing token that all masters name. */
  names: number;
  /** What happens while the value is written. */
  onWrite: () => void;
}

function bench(): Bench {
  const coordination = new FakeCoordination(3);
  for (const node of coordination.coordinator.nodes) Object.assign(node, { subscribe: () => undefined });
  const election = electionOf(coordination, new SeenLeaders(), 'boss', {});
  const one: Bench = Object.assign(coordination, { election, names: 5, onWrite: () => undefined });
  coordination.answers = ({ command }) => {
    const isWrite = scriptOf(command)?.name === NOTE_WRITE.name;
    if (isWrite) one.onWrite();
    const look = answered(isWrite ? [1, 0, 0] : [2, 9_000, 1, 0, 1, one.names, 1, `${one.names}`]);
    return [look, look, look];
  };
  return one;
}

describe('election: a campaign', () => {
  it('whose lease is lost while the value is written has failed, and gives it back', async () => {
    const one = bench();
    one.onWrite = () => one.lease.lose();
    expect(await rejection(one.election.campaign('a'))).to.include({ code: 'LOCK_LOST' });
    expect(one.lease.isReleased).to.equal(true);
  });

  it('whose signal aborts while the value is written has failed, and gives the lease back', async () => {
    const [one, controller] = [bench(), new AbortController()];
    one.onWrite = () => controller.abort('enough');
    const error = await rejection(one.election.campaign('a', { signal: controller.signal }));
    expect(error).to.include({ code: 'ABORTED', cause: 'enough' });
    expect([error.resources, one.lease.isReleased]).to.deep.equal([['boss'], true]);
  });

  it('leads: its lease is kept, and nobody has to hear of outages', async () => {
    const one = bench();
    const observers: unknown[] = [];
    one.acquire = (...given) => {
      observers.push(given[3]);
      return Promise.resolve(one.lease);
    };
    await one.election.campaign('a');
    expect([one.lease.isReleased, observers]).to.deep.equal([false, [undefined]]);
  });
});

describe('election: who leads', () => {
  it('leader() leaves no wait behind', async () => {
    const { begun, election } = bench();
    expect(await election.leader()).to.deep.equal({ value: '5', fence: 5, seq: 1 });
    expect(begun.size).to.equal(0);
  });

  it('masters that name an earlier leader than the one that was told say nothing: that one stands', async () => {
    const one = bench();
    const told: unknown[] = [];
    const observation = one.election.observe();
    const run = async (): Promise<void> => {
      for await (const leader of observation) told.push(leader?.fence);
    };
    void run();
    await settle();
    one.names = 4;
    await one.time.advance(2_000);
    expect(told).to.deep.equal([5]);
    await observation.return?.();
  });

  it('tracers of lead are told of which instance', async () => {
    const { election, telemetry, time } = bench();
    const told: LeadMessage[] = [];
    const onStart = (message: unknown): void => void told.push(message as LeadMessage); // as it is documented
    const channel = tracingChannel('quorate:lead');
    channel.subscribe({ start: onStart } as Parameters<typeof channel.subscribe>[0]); // only the beginning
    const controller = new AbortController();
    void election.lead(() => undefined, { signal: controller.signal });
    await time.advance(1);
    controller.abort();
    await time.advance(1_000);
    channel.unsubscribe({ start: onStart } as Parameters<typeof channel.subscribe>[0]);
    expect(told[0]?.redlock).to.equal(telemetry.instance);
  });
});
