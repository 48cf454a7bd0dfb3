/** What each example of a dashboard does once its server listens: takes a lock, and finds it in the JSON and its page beside it. */
import assert from 'node:assert/strict';
import type { DashboardSnapshot } from '../../lib/dashboard/index.js'; // you write: from 'quorate/dashboard'
import type { Redlock } from '../../lib/index.js'; // you write: from 'quorate'

/** @param url  where the dashboard is mounted, without a slash at its end */
export async function look(
  redlock: Redlock,
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  const lease = await redlock.acquire('invoice:42');
  const page = await fetch(url, { headers });
  assert.match(await page.text(), /<title>/);
  assert.ok(page.url.endsWith('/'), 'what the page names is beside it');
  const { locks, masters } = (await (
    await fetch(`${url}/api/snapshot`, { headers })
  ).json()) as DashboardSnapshot;
  console.log(locks.rows.map(({ name, state }) => `${name} is ${state}`).join('\n'));
  assert.deepEqual(
    locks.rows.map(({ name }) => name),
    ['invoice:42'],
  );
  const all = masters.length;
  const order = JSON.stringify({ action: 'free', name: 'invoice:42', confirm: 'invoice:42' });
  const freed = await fetch(`${url}/api/actions`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'x-quorate-dashboard': '1' },
    body: order,
  });
  assert.deepEqual(
    [freed.status, await freed.json()],
    [200, { done: true, outcome: `released on ${all} of ${all} masters` }],
  );
  await assert.rejects(lease.extend(), { code: 'LOCK_LOST' });
}
