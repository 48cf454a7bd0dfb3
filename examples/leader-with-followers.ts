/**
 * One leader and two followers: the leader works, the followers know where it is, and one of them takes over.
 *
 *   node --import tsx examples/leader-with-followers.ts
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redlock } from '../lib/index.js'; // you write: from 'quorate'
import { exampleMasters, keyPrefix } from './shared/masters.js';

await using masters = await exampleMasters();
const stopping = new AbortController();
const led: string[] = [];

/** What each process of a service does: it wants to lead, and works while it does. */
async function serve(name: string, { dies = false } = {}): Promise<void> {
  await using redlock = Redlock.connect(masters.urls, { keyPrefix, ttlMs: 1_000 });
  const mine = new AbortController();
  const election = redlock.election('scheduler');
  election.on('ended', ({ reason }) => console.log(`${name} leads no longer: ${String(reason)}`));
  await election.lead(
    async ({ fence, proclaim, signal }) => {
      led.push(name);
      console.log(`${name} leads, with fence ${fence}`);
      await proclaim(`http://${name}/ready`); // what the others are told, from here on
      while (!signal.aborted) {
        await sleep(50); // a piece of the work; each effect carries the fence
        if (dies && led.length === 1) mine.abort('it is shut down');
      }
    },
    {
      value: `http://${name}/`,
      signal: AbortSignal.any([stopping.signal, mine.signal]),
    },
  );
}

const services = [serve('alpha', { dies: true })];
await sleep(300);
services.push(serve('beta'), serve('gamma'));

// Anybody can watch. What is told may be a moment old: it is for routing, not for exclusion.
await using watcher = Redlock.connect(masters.urls, { keyPrefix });
const seen: string[] = [];
for await (const leader of watcher.election('scheduler').observe({ signal: AbortSignal.timeout(20_000) })) {
  seen.push(leader?.value ?? 'nobody');
  console.log(`watcher: ${leader === null ? 'nobody leads' : `requests go to ${leader.value}`}`);
  if (new Set(led).size > 1 && leader?.value.endsWith('/ready') === true && !leader.value.includes('alpha'))
    break;
}
assert.equal(led[0], 'alpha');
assert.notEqual(led[1], 'alpha');
assert.equal(seen.at(-1), `http://${led[1]}/ready`);

stopping.abort('the example is over');
await Promise.all(services);
assert.equal(await watcher.election('scheduler').leader(), null);
console.log('everybody has stopped, and nobody leads');
