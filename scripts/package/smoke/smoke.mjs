/**
 * What every runtime must be able to do with the package, on real masters. `scripts/check-runtimes.mjs` copies this folder beside
 * an installed package, and starts `import.mjs` or `require.cjs` there, with the client's package and the masters' URLs.
 *
 * Nothing ends the process: it must end by itself once all is closed. It prints a line of JSON first: what the runtime has of
 * `await using`.
 */
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** So long that no expiry decides anything on a busy machine: the checking script ends this program before. */
const PATIENT = { ttlMs: 600_000, waitMs: 600_000, nodeTimeoutMs: 60_000 };
/** Of leases that must outlive their first ttl. A machine that stalls for longer loses one; the next lives longer. */
const SHORT_TTLS_MS = [2_000, 8_000, 32_000];

/** @param quorate  the package, imported or required */
export async function smoke({ Redlock, RedlockError }, client, urls) {
  const plain = await Promise.all(urls.map(PLAIN[client]));
  const one = new Redlock(
    plain.map(({ own }) => own),
    PATIENT,
  );
  const other = Redlock.connect(urls, { ...PATIENT, client });
  await Promise.all([one.ready(), other.ready()]);
  const given = { one, other, plain, RedlockError };
  for (const part of [excludes, waitsInLine, renews, loses, elects, usesRoutine]) await part(given);
  const awaitUsing = await disposes(given);
  await closes(given);
  console.log(JSON.stringify({ awaitUsing }));
}

/** Clients of the caller's own, by library. */
const PLAIN = {
  async ioredis(url) {
    const { Redis } = await import('ioredis');
    const own = new Redis(url).on('error', console.error);
    return { own, close: () => own.quit() };
  },
  async redis(url) {
    const { createClient } = await import('redis');
    const own = createClient({ url });
    own.on('error', console.error);
    await own.connect();
    return { own, close: () => own.close() };
  },
};

async function excludes({ one, other }) {
  const lease = await one.acquire('smoke:lock');
  assert.equal(lease.status, 'held');
  assert.ok(lease.fence > 0);
  assert.equal(await other.tryAcquire('smoke:lock'), null);
  await lease.release();
  const next = await other.tryAcquire('smoke:lock');
  assert.ok(next.fence > lease.fence);
  await next.release();
}

async function waitsInLine({ one, other }) {
  const lease = await one.acquire('smoke:line');
  const waiting = other.acquire('smoke:line');
  while ((await one.inspect('smoke:line')).waiting === 0) await sleep(5);
  await lease.release();
  const next = await waiting;
  assert.equal(next.status, 'held');
  assert.ok(next.fence > lease.fence);
  await next.release();
}

async function renews({ one, other }) {
  for (const ttlMs of SHORT_TTLS_MS) {
    const lease = await one.acquire('smoke:renewed', { ttlMs, renew: true });
    await sleep(ttlMs * 1.5);
    const { status } = lease;
    if (status === 'held') assert.equal(await other.tryAcquire('smoke:renewed'), null);
    await lease.release();
    if (status === 'held') return;
  }
  throw new Error('no renewed lease outlived its ttl');
}

/** Another value is in place of its votes on two of three masters: votes that are only gone would be set again. */
async function loses({ one, plain, RedlockError }) {
  const lease = await one.acquire('smoke:lost', { ttlMs: 3_000, renew: true });
  const aborted = lease.signal.aborted || once(lease.signal, 'abort');
  await Promise.all(plain.slice(0, 2).map(({ own }) => own.set('smoke:lost', 'somebody else')));
  await aborted;
  assert.ok(lease.signal.reason instanceof RedlockError);
  assert.equal(lease.signal.reason.code, 'LOCK_LOST');
  assert.equal(lease.status, 'lost');
}

async function elects({ one, other }) {
  const [here, there] = [one, other].map((redlock) => redlock.election('smoke:election'));
  const leadership = await here.campaign('one');
  assert.equal((await there.leader()).value, 'one');
  const campaign = there.campaign('other');
  await leadership.resign();
  const next = await campaign;
  assert.ok(next.fence > leadership.fence);
  assert.equal((await here.leader()).value, 'other');
  await next.resign();
}

async function usesRoutine({ one, other }) {
  const inside = await one.using('smoke:using', (lease) => [lease.status, lease.signal.aborted]);
  assert.deepEqual(inside, ['held', false]);
  await other.using('smoke:using', () => undefined);
}

/** @returns whether the runtime can read `await using`, or has its symbol alone */
async function disposes({ one, other }) {
  const found = await import('./await-using.mjs').catch((error) => error);
  if (found instanceof Error && !(found instanceof SyntaxError)) throw found;
  if (found instanceof SyntaxError) {
    const lease = await one.acquire('smoke:disposed');
    await lease[Symbol.asyncDispose]();
  } else {
    assert.equal(await found.statusWithin(one, 'smoke:disposed'), 'held');
  }
  const next = await other.tryAcquire('smoke:disposed');
  assert.equal(next.status, 'held');
  await next.release();
  return found instanceof SyntaxError ? 'symbol' : 'syntax';
}

/** Held leases learn of it; what others close is not touched. */
async function closes({ one, other, plain }) {
  const lease = await other.acquire('smoke:closed', { renew: true });
  const aborted = once(lease.signal, 'abort');
  const closed = other.close();
  await aborted;
  assert.equal(lease.signal.reason.code, 'CLOSED');
  await lease.release();
  await closed;
  await assert.rejects(other.acquire('smoke:closed'), { code: 'CLOSED' });
  await one.close();
  await Promise.all(plain.map(({ close }) => close()));
}
