/**
 * A holder that is paused past its lease, and the guard that refuses its late write.
 *
 *   node --import tsx examples/paused-holder.ts
 *
 * Two processes. One takes the lease, looks at it, and is stopped (SIGSTOP) between that look and its write, as a garbage
 * collection, a full machine or a migration can stop it. Its lease runs out; another takes over and writes. No lock can
 * keep the first from sending its write when it wakes up. The resource can refuse it.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { MemoryFence } from '../lib/fence/index.js'; // you write: from 'quorate/fence'
import { Redlock, RedlockError } from '../lib/index.js'; // you write: from 'quorate'
import { exampleMasters, keyPrefix } from './shared/masters.js';

const TTL_MS = 500;
const [role, urls = '', prefix = ''] = process.argv.slice(2);

/** What reaches the resource: who writes sends the fence of its lease along. */
interface Write {
  readonly text: string;
  readonly fence: number | undefined;
}

/** The resource: a file server, a device, a table. It has the guard, and knows nothing of locks. */
class Report {
  readonly texts: string[] = [];
  readonly #guard = new MemoryFence(); // RedisFence, SqlFence: where the resource is a Redis or a table

  write({ text, fence }: Write): void {
    this.#guard.check('report', fence); // throws STALE_FENCE; no await between this and the write
    this.texts.push(text);
  }
}

await (role === 'holder' ? holder() : main());

/** The process that is paused. */
async function holder(): Promise<void> {
  await using redlock = Redlock.connect(urls.split(','), { keyPrefix: prefix, ttlMs: TTL_MS });
  const lease = await redlock.acquire('report', { renew: true });
  lease.assertHeld(); // it is held, at this instant
  await send({ text: '', fence: undefined }); // "about to write"
  process.kill(process.pid, 'SIGSTOP'); // and here time passes, of which this process knows nothing
  await send({ text: 'by the first', fence: lease.fence });
}

async function main(): Promise<void> {
  await using masters = await exampleMasters();
  await using redlock = Redlock.connect(masters.urls, { keyPrefix, ttlMs: TTL_MS });
  const report = new Report();

  const first = fork(fileURLToPath(import.meta.url), ['holder', masters.urls.join(','), keyPrefix]);
  try {
    await writeOf(first);
    console.log('the first holder is paused, between its check and its write');

    await using second = await redlock.acquire('report'); // as soon as the first one's lease has run out
    report.write({ text: 'by the second', fence: second.fence });
    console.log('the second holder has written');

    first.kill('SIGCONT');
    const late = await writeOf(first);
    assert.throws(
      () => report.write(late),
      (error) => RedlockError.is(error) && error.code === 'STALE_FENCE',
    );
    console.log('the first one woke up and wrote: refused');

    report.write({ text: 'by the second, again', fence: second.fence }); // one holder writes as often as it likes
    assert.deepEqual(report.texts, ['by the second', 'by the second, again']);
  } finally {
    first.kill('SIGKILL');
  }
}

/** The next write that a process sends to the resource. */
async function writeOf(child: ChildProcess): Promise<Write> {
  const ended = new AbortController();
  child.once('exit', () => ended.abort(new Error('the holder ended')));
  const [write] = (await once(child, 'message', { signal: ended.signal })) as [Write];
  return write;
}

function send(write: Write): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(write, (error: Error | null) => (error === null ? resolve() : reject(error)));
  });
}
