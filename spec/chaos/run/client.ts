/**
 * A client process: ioredis clients with default settings, one Redlock at a time, and one activity after another on a few
 * names. What it does is drawn from its seed; what it learns is recorded in its history at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { closeAndReopen } from './activities/closing.js';
import { ClientContext, HAS } from './activities/context.js';
import { makeNoise, useForeign } from './activities/foreign.js';
import { askForLeader, campaign, lead, observe } from './activities/leading.js';
import { adopt, useLock } from './activities/locks.js';
import { nest } from './activities/nested.js';
import { enterAgain } from './activities/reentrant.js';
import { runOnce, Ticking } from './activities/ticking.js';
import { useTimestampLock } from './activities/timestamp.js';
import { nowMs } from './history.js';
import { noteStillness } from './stillness.js';
import { type ClientOrder, type Offer, ORDER, type ToClient } from './orders.js';

/** How many leases may be handed over and not taken over yet; further ones are left to expire. */
const MOST_OFFERS = 10;
/** The share of instances that watch who leads. */
const OBSERVING_SHARE = 0.4;

// Ctrl-C reaches the whole process group; the conductor decides what to do
process.on('SIGINT', () => undefined);
// without the conductor there is no run
process.on('disconnect', () => process.exit());

const order = JSON.parse(process.env[ORDER] ?? '{}') as ClientOrder; // the cast: the conductor wrote it
const context = new ClientContext(order);
const { seeded, history } = context;
const offers: Offer[] = [];
let isStopping = false;
let ticking: Ticking | undefined;
let observing = new AbortController();

process.on('message', (message: ToClient) => {
  if (message.kind === 'stop') isStopping = true;
  else if (offers.length < MOST_OFFERS) offers.push(message);
});

interface Activity {
  /** How often it is drawn, as against the others. */
  readonly weight: number;
  run(): Promise<void>;
}

const ACTIVITIES: readonly Activity[] = [
  { weight: 54, run: () => useLock(context) },
  { weight: 7, run: () => nest(context) },
  { weight: 8, run: () => enterAgain(context) },
  { weight: 7, run: () => useTimestampLock(context) },
  { weight: 6, run: () => useForeign(context) },
  { weight: 1, run: () => makeNoise(context) },
  { weight: 3, run: () => closeAndReopen(context, beginInBackground) },
  ...(HAS.elections
    ? [
        { weight: 5, run: () => campaign(context) },
        { weight: 3, run: () => lead(context, seeded.between(500, 2_500)) },
        { weight: 3, run: () => askForLeader(context) },
      ]
    : []),
  ...(HAS.jobs ? [{ weight: 9, run: () => runOnce(context) }] : []),
];

function drawActivity(): Activity {
  let left = seeded.next() * ACTIVITIES.reduce((sum, { weight }) => sum + weight, 0);
  const drawn = ACTIVITIES.find(({ weight }) => (left -= weight) < 0) ?? ACTIVITIES[0];
  if (drawn === undefined) throw new Error('there are activities');
  return drawn;
}

/** What an instance does beside its calls. */
async function beginInBackground(): Promise<void> {
  observing.abort();
  observing = new AbortController();
  if (HAS.elections && seeded.chance(OBSERVING_SHARE)) void observe(context, observing.signal);
  if (!HAS.jobs) return;
  ticking = new Ticking(context);
  await ticking.start();
}

async function main(): Promise<void> {
  history.note({ e: 'up', t: nowMs(), pid: process.pid, version: order.version });
  const stopWatching = noteStillness(history);
  await beginInBackground();
  context.tell({ kind: 'ready' });
  while (!isStopping) {
    const offer = offers.shift();
    await (offer === undefined ? drawActivity().run() : adopt(context, offer));
    await sleep(seeded.between(10, 150));
  }
  observing.abort();
  await ticking?.stop();
  await context.end();
  stopWatching();
  history.note({ e: 'down', t: nowMs() });
  history.close();
  process.removeAllListeners('disconnect');
  process.disconnect();
}

await main();
