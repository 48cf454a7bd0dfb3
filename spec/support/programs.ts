/** What specs run as processes of their own: `node programs.ts NAME URLS …`. Each but `leave` ends by itself, not by `exit`. */
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type ClientName, Redlock } from '../../lib/index.js';
import { EVERY_MASTER, PATIENT } from './patience.js';
import { EVERY_KIND } from './unordered.js';

const [name = '', urlList = '', ...args] = process.argv.slice(2);
const urls = urlList.split(',');
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const PROGRAMS: Readonly<Record<string, () => Promise<void>>> = {
  /** Holds a lease, and says in the first turn after a pause of the process what it knows of it. */
  async hold() {
    const [resource = 'r', ttlMs = '1000', renew = ''] = args;
    const redlock = Redlock.connect(urls, { waitMs: PATIENT.waitMs });
    const lease = await redlock.acquire(resource, { ttlMs: Number(ttlMs), renew: renew === 'renew' });
    lease.signal.addEventListener('abort', () => say('signal fired'), { once: true });
    const ticking = setInterval(() => {
      if (lease.status === 'held') return;
      clearInterval(ticking);
      const isFired = lease.signal.aborted;
      say(`status ${lease.status}, ${lease.remainingMs()} ms left`);
      setImmediate(() => {
        say(`aborted ${isFired || lease.signal.aborted}`);
        void redlock.close({ releaseHeld: true });
      });
    }, 5);
    say('held');
  },

  /** Reads, writes and takes permits in turns, and says from when to when it held what. */
  async share() {
    const [resource = 'r', permits = '3', turns = '10'] = args;
    const redlock = Redlock.connect(urls, { ttlMs: 3_000, waitMs: PATIENT.waitMs, nodeTimeoutMs: 100 });
    const { read, write } = redlock.readWriteLock(resource);
    const semaphore = redlock.semaphore(`${resource}:permits`, Number(permits));
    const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
    for (let turn = 0; turn < Number(turns); turn++) {
      const how =
        (['read', 'permits', 'write', 'read', 'permits'] as const)[(turn + process.pid) % 5] ?? 'read';
      const wanted = how === 'permits' ? 1 + (turn % 2) : 0;
      const taken =
        how === 'permits'
          ? semaphore.acquire({ permits: wanted })
          : how === 'write'
            ? write.acquire()
            : read.acquire();
      const lease = await taken.catch(() => undefined);
      const fromMs = nowMs();
      await pause(5 + (turn % 7) * 5);
      if (lease?.status === 'held') say(`held ${how} ${wanted} ${fromMs} ${nowMs()}`);
      else turn--; // its process or the masters were slow
      await lease?.release();
    }
    say('done');
    await redlock.close();
  },

  /** Holds a lock under a note, renewed, and does nothing more. */
  async 'hold-noted'() {
    const [resource = 'r', note = '', ttlMs = '30000'] = args;
    const redlock = Redlock.connect(urls, { waitMs: PATIENT.waitMs });
    const lease = await redlock.acquire(resource, { note, ttlMs: Number(ttlMs), renew: true });
    setInterval(() => undefined, 60_000);
    say(`held ${lease.fence}`);
  },

  /** Holds one lock and, once it has read a line, waits for another, for as long as that takes. */
  async 'hold-and-wait'() {
    const [held = 'a', wanted = 'b', label = 'api'] = args;
    const redlock = Redlock.connect(urls, { ...PATIENT, label });
    redlock.on('deadlock', ({ deadlock }) => say(`deadlock of ${deadlock.map((one) => one.label).join()}`));
    await redlock.using(held, async () => {
      say('held');
      await once(process.stdin, 'data');
      process.stdin.destroy();
      await redlock.using(wanted, () => say('has both'));
    });
    await redlock.close();
  },

  /** Holds a lock to read, and does nothing more. */
  async 'hold-to-read'() {
    const [resource = 'r', ttlMs = '1000'] = args;
    const redlock = Redlock.connect(urls, { waitMs: PATIENT.waitMs });
    await redlock.readWriteLock(resource).read.acquire({ ttlMs: Number(ttlMs) });
    setInterval(() => undefined, 60_000);
    say('held');
  },

  /** `using` over a pause of the process: the routine hears of the loss, and `using` settles. */
  async using() {
    const redlock = Redlock.connect(urls, { waitMs: PATIENT.waitMs });
    const end = await redlock.using(args[0] ?? 'r', { ttlMs: 600 }, async (lease) => {
      const lost = new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
      const alive = setInterval(() => undefined, 1_000);
      say('held');
      await lost;
      clearInterval(alive);
      return lease.status;
    });
    say(`settled ${end}`);
    await redlock.close();
  },

  /** Leaves a lease unreleased and closes; nothing else keeps the process alive. */
  async close() {
    const redlock = Redlock.connect(urls, PATIENT);
    await redlock.acquire('kept', { renew: true });
    const lease = await redlock.acquire('watched');
    say(`held ${lease.signal.aborted}`);
    await redlock.close({ releaseHeld: true });
    say('closed');
  },

  /**
   * A service that is told to stop while it works: SIGTERM closes it, SIGUSR2 lets a routine end that does not listen. By
   * hand, the lease is released as its signal says so.
   */
  async serve() {
    const [resource = 'r', how = 'listens', drainMs = '150000', ttlMs = String(PATIENT.ttlMs)] = args;
    const redlock = Redlock.connect(urls, { waitMs: PATIENT.waitMs, ttlMs: Number(ttlMs) });
    let drain = Number(drainMs);
    process.on('SIGTERM', () => {
      say('told');
      void redlock.close({ drainMs: drain }).then(() => say('closed'));
      drain = 0; // the second time it is meant
    });
    const mayEnd = new Promise((resolve) => process.once('SIGUSR2', resolve));
    const alive = setInterval(() => undefined, 1_000); // when its connections are gone, the routine goes on
    const ends = async (lease: { readonly signal: AbortSignal; readonly status: string }): Promise<void> => {
      say('held');
      await (how === 'is deaf' ? mayEnd : once(lease.signal, 'abort'));
      say(`ends ${lease.status}`);
    };
    if (how === 'by hand') {
      const lease = await redlock.acquire(resource, { renew: true });
      await ends(lease);
      await lease.release();
    } else await redlock.using(resource, ends);
    clearInterval(alive);
    say('left');
  },

  /** Holds locks by a client of that library, releases them, and ends the process in the next statement. */
  async leave() {
    const [client, ...names] = args;
    const redlock = Redlock.connect(urls, {
      ...PATIENT, // a master that is taken for silent is not waited for
      client: client as ClientName,
    });
    await redlock.ready(EVERY_MASTER);
    const leases = await Promise.all(names.map((name) => redlock.acquire(name)));
    await once(process.stdin, 'data'); // by now every master has given its vote
    await Promise.all(leases.map((lease) => lease.release({ await: false })));
    process.exit(0);
  },

  /** So many wait for one lock, each with a ticket of its own, and are served when it is their turn. */
  async 'wait-in-queue'() {
    const [count = '1', resource = 'r', client = 'ioredis'] = args;
    const redlock = Redlock.connect(urls, { ...PATIENT, localTurns: 0, client: client as ClientName });
    const waits = Array.from({ length: Number(count) }, async () => {
      await redlock.using(resource, () => say('served'));
    });
    await Promise.all(waits);
    await redlock.close();
  },

  /** So many want a lock, or to write, or to lead, and keep it for as long as the process lives. */
  async 'want-for-good'() {
    const [count = '1', resource = 'r', kind = 'lock'] = args;
    const options = { ttlMs: 3_000, waitMs: Infinity, renew: true };
    const redlock = Redlock.connect(urls, { ...options, localTurns: 0 }); // each is asked for at the masters
    const wanted: Readonly<Record<string, () => Promise<unknown>>> = {
      lock: () => redlock.acquire(resource, options),
      write: () => redlock.readWriteLock(resource).write.acquire(options),
      lead: () => redlock.election(resource, { ttlMs: 3_000 }).campaign('me', { waitMs: Infinity }),
    };
    await Promise.all(
      Array.from({ length: Number(count) }, async () => {
        await wanted[kind]?.();
        say('served');
      }),
    );
  },

  /** Waits in the queue, and never calls `close`: its own clients, of any kind, are all that keeps it alive. */
  async 'wait-and-end'() {
    const kind = EVERY_KIND.find((one) => one.name === (args[1] ?? 'ioredis 6'));
    const clients = urls.flatMap((url) => kind?.open(Number(new URL(url).port)) ?? []);
    const redlock = new Redlock(clients, PATIENT);
    await redlock.using(args[0] ?? 'r', () => say('served'));
    for (const client of clients) client.disconnect();
  },

  /** The same when masters are frozen at `close`: the spec freezes them in between. */
  async 'close-frozen'() {
    const { ttlMs, waitMs } = PATIENT;
    const redlock = Redlock.connect(urls, { ttlMs, waitMs }); // with masters that are silent, it waits for a node timeout
    await redlock.acquire('kept', { renew: true });
    const told = new Promise<void>((resolve) => process.once('SIGUSR2', () => resolve()));
    say('held');
    await told; // its connections keep it alive
    await redlock.close({ releaseHeld: true });
    say('closed');
  },

  /** Renewals, undos and signals are running while the caller's own clients are disconnected. */
  async disconnect() {
    const clients = urls.map((url) => new Redis(url));
    const redlock = new Redlock(clients, { waitMs: PATIENT.waitMs });
    const lease = await redlock.acquire('kept', { renew: true, ttlMs: 3_600_000 });
    await redlock.acquire('short', { renew: true, ttlMs: 3_000 });
    say(`held ${lease.signal.aborted}`);
    for (const client of clients) client.disconnect();
    await redlock.acquire('another', { waitMs: 50 }).catch((error: Error) => say(error.message));
    void lease.release();
    say('done');
  },

  /** Takes turns with others; the critical section is checked by a counter that they share. */
  async compete() {
    const [resource = 'r', turns = '20', counterUrl = ''] = args;
    const redlock = Redlock.connect(urls, {
      retry: { minDelayMs: 1, maxDelayMs: 20 },
      waitMs: PATIENT.waitMs,
    });
    const counter = new Redis(counterUrl);
    let overlaps = 0;
    for (let turn = 0; turn < Number(turns); turn++) {
      await redlock.using(resource, { ttlMs: PATIENT.ttlMs }, async () => {
        if ((await counter.incr('inside')) !== 1) overlaps++;
        if (turn % 3 === 0) await pause(1);
        await counter.decr('inside');
        await counter.incr('turns');
      });
    }
    say(`overlaps ${overlaps}`);
    await redlock.close();
    counter.disconnect();
  },
};

const program = PROGRAMS[name];
if (program === undefined) throw new Error(`no program ${name}`);
await program();
