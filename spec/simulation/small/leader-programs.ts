/** What the clients of small worlds do about an election: campaign, proclaim, resign, and ask who leads. */
import type { CampaignOptions, Leadership } from '../../../lib/election/public.js';
import type { Lease } from '../../../lib/lease/public.js';
import { leaseUnder } from '../../support/insides.js';
import { leadAtTheEnd } from '../coordination/leading.js';
import type { Reign } from '../coordination/leader-checker.js';
import { TTL_MS } from './deviations.js';
import type { Hands } from './hands.js';
import { QUEUED, type Program, RESOURCE } from './programs.js';
import type { SmallEnding } from './worlds.js';

/** The value of a leader is written within this time after its votes, or later. */
const WRITE_MS = TTL_MS / 10 + 10;
const MOMENT_MS = 8;
/** Longer than it takes to notice the end of a leadership. */
const LED_MS = 30;

interface Led {
  readonly leadership: Leadership;
  readonly lease: Lease;
  readonly reign: Reign;
}

async function campaign(hands: Hands, value: string): Promise<Led | undefined> {
  const { client } = hands.player;
  const { leaders } = hands.checkers;
  const waitMs = QUEUED.waitMs ?? 0;
  const options: CampaignOptions = { waitMs };
  const beginning = leaders.fence;
  let led: Led | undefined;
  const acquire = async (): Promise<Lease> => {
    const leadership = await hands.redlock.election(RESOURCE).campaign(value, options);
    const reign = leaders.began(client, leadership, beginning);
    leaders.proclaims(leadership.fence, 1, value);
    led = { leadership, lease: leaseUnder(leadership), reign };
    return led.lease;
  };
  await hands.granted([RESOURCE], { ...QUEUED, waitMs: waitMs + WRITE_MS }, acquire, (lease, began) =>
    hands.holds(lease, began),
  );
  return led;
}

async function proclaim(hands: Hands, { leadership, lease }: Led): Promise<void> {
  if (leadership.status !== 'held') return;
  const value = `${hands.player.client.name} again`;
  hands.checkers.leaders.proclaims(leadership.fence, 2, value);
  await hands.settles(lease, 'proclaim', () => leadership.proclaim(value));
}

async function resign(hands: Hands, { leadership, lease, reign }: Led): Promise<void> {
  hands.checkers.leaders.ended(reign);
  hands.ended(lease, lease.status === 'held');
  await hands.settles(lease, 'resign', () => leadership.resign());
}

async function ask(hands: Hands): Promise<void> {
  const told = hands.checkers.leaders.asks(hands.player.client);
  told(await hands.redlock.election(RESOURCE).leader());
}

/** Campaigns, proclaims another value, and resigns, twice. */
export const leading: Program = async (hands) => {
  const led = await campaign(hands, hands.player.client.name);
  if (led === undefined) return;
  await hands.pass(MOMENT_MS);
  await proclaim(hands, led);
  await hands.pass(LED_MS);
  await resign(hands, led);
  await hands.pass(MOMENT_MS);
  await resign(hands, led);
};

/** Asks while another leads, and does not wait for one answer before it asks again. Then it leads itself. */
export const asking: Program = async (hands) => {
  const asked: Promise<void>[] = [];
  for (let i = 0; i < 3; i++) {
    await hands.pass(MOMENT_MS);
    asked.push(ask(hands));
  }
  await Promise.all(asked);
  await hands.pass(TTL_MS + LED_MS); // who died leads no longer, and its value may still be there
  await ask(hands);
  await leading(hands);
};

/** Is told who leads, and then leads itself. */
export const observing: Program = async (hands) => {
  const { client } = hands.player;
  const controller = new AbortController();
  const observe = async (): Promise<void> => {
    const { signal } = controller;
    for await (const leader of hands.redlock.election(RESOURCE).observe({ signal }))
      hands.checkers.leaders.told(client, leader);
  };
  const observed = observe();
  await hands.pass(TTL_MS / 2);
  await leading(hands);
  controller.abort();
  await observed;
};

/** Everybody who campaigns leads in the end, and everybody is told so. */
export const leadInTheEnd: SmallEnding = (stage, living, { leaders }) => leadAtTheEnd(stage, living, leaders);
