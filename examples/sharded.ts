/**
 * More locks than one group of masters can carry: several groups, each with a quorum of its own, and every resource at
 * home in one of them by a hash of its name. The groups know nothing of each other, and need not.
 *
 *   node --import tsx examples/sharded.ts
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { Redlock } from '../lib/index.js'; // you write: from 'quorate'
import { startMasters } from '../scripts/masters.js';

const GROUPS = 2;
const MASTERS_EACH = 3;

await using masters = await startMasters(GROUPS * MASTERS_EACH);
const groups = Array.from({ length: GROUPS }, (_, i) => {
  const urls = masters.urls.slice(i * MASTERS_EACH, (i + 1) * MASTERS_EACH);
  return Redlock.connect(urls, { ttlMs: 5_000 });
});

/**
 * Every process must come to the same group for a name, so the hash is one that all of them have. Groups are fixed: to
 * add one, stop the jobs for the longest ttl, since a name that moves could be held in its old home and its new one.
 */
function groupOf(name: string): Redlock {
  const place = createHash('sha256').update(name).digest().readUInt32BE(0) % groups.length;
  const group = groups[place];
  if (group === undefined) throw new Error('there is at least one group');
  return group;
}

// What is locked together must lie together: choose the group by what the names have in common.
const accountOf = (resource: string): string => resource.split('/')[0] ?? resource;

try {
  const counts = new Map<Redlock, number>();
  const names = Array.from({ length: 200 }, (_, i) => `account:${i}/balance`);
  await Promise.all(
    names.map(async (name) => {
      const redlock = groupOf(accountOf(name));
      counts.set(redlock, (counts.get(redlock) ?? 0) + 1);
      await redlock.using([name, `${accountOf(name)}/log`], async (lease) => {
        assert.ok((lease.fence ?? 0) > 0); // fencing tokens rise for each resource, within its group
        assert.equal(await groupOf(accountOf(name)).tryAcquire(name), null); // everybody comes to the same place
      });
    }),
  );
  console.log(`200 accounts: ${groups.map((group) => counts.get(group)).join(' and ')} in the two groups`);

  // A group that is down takes its share of the names along, and no more.
  for (const master of masters.list.slice(0, 2)) await master.kill();
  let works = 0;
  for (const name of names.slice(0, 40)) {
    const lease = await groupOf(accountOf(name))
      .acquire(name, { waitMs: 100 })
      .catch(() => undefined);
    if (lease !== undefined) works++;
    await lease?.release();
  }
  assert.ok(works > 0 && works < 40);
  console.log(`one group lost its quorum: ${works} of 40 accounts are locked as before`);
} finally {
  await Promise.all(groups.map((group) => group.close()));
}
