/** The dashboard as a handler, on real masters. */
import { createServer, type IncomingMessage, request as send, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { dashboard, type Dashboard } from '../../lib/dashboard/dashboard.js';
import type { DashboardOptions } from '../../lib/dashboard/options.js';
import type { DashboardAction, DashboardSnapshot } from '../../lib/dashboard/public.js';
import { recordText } from '../../lib/lease/instance-record.js';
import { clientKey, noteKey } from '../../lib/protocol/keys.js';
import { fingerprint } from '../../lib/redis/transport.js';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { PATIENT } from '../support/patience.js';
import { byHand, eventually } from '../support/real.js';

const NODES = 3;
const PASSWORD = 'a-secret-password-of-redis';
const TOKEN = 'the-token-of-this-dashboard';
const MARKUP = '<img src=x onerror=alert(1)>"\'&';
const NASTY = `${MARKUP}\u2028`;

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

describe(`the dashboard: N=${NODES}, real masters`, function () {
  let masters: Masters;
  let redlock: Redlock;
  let other: Redlock;
  let hands: readonly Redis[];
  const open: { readonly page: Dashboard; readonly server: Server }[] = [];
  const actions: DashboardAction[] = [];
  const lines: string[] = [];

  before(async () => {
    masters = await startMasters(NODES, { backend: 'process' });
    hands = masters.list.map(({ port }) => byHand(port));
    for (const hand of hands)
      await hand.call('ACL', 'SETUSER', 'app', 'on', `>${PASSWORD}`, '~*', '&*', '+@all');
    const urls = masters.list.map(({ port }) => `redis://app:${PASSWORD}@127.0.0.1:${port}`);
    redlock = Redlock.connect(urls, { ...PATIENT, localTurns: 0 });
    other = Redlock.connect(urls, PATIENT);
    await Promise.all([redlock.ready(), other.ready()]);
  });
  after(async () => {
    await Promise.all([redlock, other].map((one) => one.close({ releaseHeld: true, drainMs: 0 })));
    for (const hand of hands) hand.disconnect();
    await masters.stop();
  });
  afterEach(async () => {
    for (const { page, server } of open.splice(0)) {
      page.close();
      server.close();
      server.closeAllConnections();
    }
    for (const hand of hands) await hand.flushall();
    actions.length = 0;
    lines.length = 0;
  });

  async function serve(options: DashboardOptions = {}, over = redlock): Promise<number> {
    const page = dashboard(over, { log: (line) => void lines.push(line), ...options });
    page.on('action', (action) => void actions.push(action));
    const server = createServer(page);
    open.push({ page, server });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  async function get(port: number, path: string, more: RequestInit = {}): Promise<Got> {
    const headers = { ...(more.headers as Record<string, string> | undefined) };
    const sent = send({ port, path, host: '127.0.0.1', method: more.method ?? 'GET', headers });
    sent.end(more.body as string | undefined);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    return { status: response.statusCode ?? 0, headers: response.headers, text };
  }

  const snapshot = async (port: number, query = ''): Promise<DashboardSnapshot> =>
    JSON.parse((await get(port, `/api/snapshot${query}`)).text);
  const act = (port: number, body: object, headers: object = {}): Promise<Got> =>
    get(port, '/api/actions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-quorate-dashboard': '1', ...headers },
      body: JSON.stringify(body),
    });

  describe('the snapshot', () => {
    it('a lock: who holds it by its public part, since when, how long, the fence, who waits, master by master', async () => {
      const port = await serve();
      const lease = await other.acquire('invoice:42');
      const stop = new AbortController();
      const waiting = redlock
        .acquire('invoice:42', { waitMs: Infinity, signal: stop.signal })
        .catch(() => undefined);
      await eventually(async () => (await redlock.inspect('invoice:42')).waiting === 1);
      for (const hand of hands)
        await eventually(async () => (await hand.keys('quorate:client:*')).length === 2);
      const { at, lock, locks, masters: shown } = await snapshot(port, '?lock=invoice:42');
      const [client = ''] = lease.token.split(':');
      expect(lock).to.include({
        name: 'invoice:42',
        kind: 'mutex',
        state: 'held',
        fence: lease.fence,
        waiting: 1,
      });
      expect(lock?.holders).to.have.lengthOf(1);
      expect(lock?.holders[0]).to.deep.include({
        ...{ holder: fingerprint(lease.token), client, role: 'holder', slots: [] },
        ...{ label: `${hostname()}:${process.pid}`, host: hostname(), pid: process.pid },
      });
      expect(lock?.votes).to.deep.equal(['granted', 'granted', 'granted']);
      expect(lock?.waiters[0]).to.include({ places: NODES });
      expect(lock?.since).to.be.within(at - 100_000, at);
      expect(lock?.endsAt).to.be.within(at, at + PATIENT.ttlMs);
      expect(locks.rows.map(({ name }) => name)).to.deep.equal(['invoice:42']);
      expect(shown.map(({ server, state }) => [state, server?.split(' ').length])).to.deep.equal(
        shown.map(() => ['up', 2]),
      );
      stop.abort();
      await waiting;
      await lease.release();
    });

    it('the label and the note that its holder has published; markup in them is text', async () => {
      const port = await serve();
      const lease = await other.acquire('x');
      const [client = ''] = lease.token.split(':');
      const since = 1_700_000_000_000;
      const record = {
        label: MARKUP,
        host: 'web1',
        pid: 7,
        held: { [fingerprint(lease.token)]: since * 1_000 },
      };
      for (const hand of hands) {
        await hand.set(clientKey('', client), JSON.stringify(record));
        await hand.set(noteKey('x', fingerprint(lease.token)), 'import 42');
      }
      const { lock } = await snapshot(port, '?lock=x');
      expect(lock?.holders[0]).to.include({ label: MARKUP, host: 'web1', pid: 7 });
      expect([lock?.note, lock?.since]).to.deep.equal(['import 42', since]);
      await lease.release();
    });

    it('a read-write lock, a semaphore, a leader and a job', async () => {
      const port = await serve();
      const reads = await other.readWriteLock('prices').read.acquire();
      const permit = await other.semaphore('exports', 3).acquire({ permits: 2 });
      const leads = await other.election('scheduler').campaign('10.0.0.7:80');
      const job = await other.job('report', { every: 3_600_000 }, () => undefined);
      expect(await job.run()).to.include({ executed: true });
      const { leaders, locks } = await snapshot(port, '?sort=name');
      const [semaphore, rw, election] = locks.rows;
      expect([semaphore?.kind, semaphore?.holders[0]?.slots]).to.deep.equal(['semaphore', [0, 1]]);
      expect([rw?.kind, rw?.holders[0]?.role]).to.deep.equal(['read-write', 'reader']);
      expect(election?.use).to.equal('election');
      expect(leaders[0]).to.include({ name: 'scheduler', value: '10.0.0.7:80', fence: leads.fence });
      await job.stop();
      await Promise.all([reads.release(), permit.release(), leads.release()]);
    });

    it('a key prefix: its own locks, by their names, and no others', async () => {
      const mine = Redlock.connect(masters.urls, { ...PATIENT, keyPrefix: 'app[1]:' });
      const [lease, strange] = [await mine.acquire('x'), await redlock.acquire('y')];
      const waits = new AbortController();
      const waiting = redlock.acquire('y', { waitMs: Infinity, signal: waits.signal }).catch(() => undefined);
      const { keyPrefix, locks } = await snapshot(await serve({}, mine));
      expect([keyPrefix, locks.rows.map(({ name }) => name)]).to.deep.equal(['app[1]:', ['x']]);
      waits.abort();
      await waiting;
      await Promise.all([lease.release(), strange.release()]);
      await mine.close();
    });

    it('clients that put a prefix before each key: names without it', async () => {
      const clients = masters.list.map(({ port }) => new Redis(port, '127.0.0.1', { keyPrefix: 'c:' }));
      const mine = new Redlock(clients, PATIENT);
      const lease = await mine.acquire('x');
      expect((await snapshot(await serve({}, mine))).locks.rows.map(({ name }) => name)).to.deep.equal(['x']);
      await lease.release();
      await mine.close();
      for (const client of clients) client.disconnect();
    });

    it('data of other programs is no lock; a lock of another library is one, and nothing of its value is shown', async () => {
      const port = await serve();
      const value = 'c0ffee00c0ffee00c0ffee00c0ffee00';
      for (const hand of hands) {
        await hand.set('page', '<html>');
        await hand.set('session', JSON.stringify({ user: 1 }), 'EX', 600);
        await hand.hset('cart', 'a', '1');
        await hand.lpush('list', '1');
        await hand.set('legacy', value, 'PX', 60_000);
      }
      const { locks } = await snapshot(port);
      expect(locks.rows.map(({ kind, name }) => [name, kind])).to.deep.equal([['legacy', 'other']]);
      expect(locks.rows[0]?.holders[0]).to.include({ client: '', holder: fingerprint(value) });
    });

    it('no secret is in it: no password, no token of a lock, none of the dashboard', async () => {
      const port = await serve({ token: TOKEN });
      const lease = await other.acquire('x');
      const stop = new AbortController();
      const waits = redlock.acquire('x', { waitMs: Infinity, signal: stop.signal }).catch(() => undefined);
      await eventually(async () => (await redlock.inspect('x')).waiting === 1);
      const auth = { authorization: `Bearer ${TOKEN}` };
      const texts = [
        (await get(port, '/api/snapshot?lock=x', { headers: auth })).text,
        (await get(port, '/')).text,
        (await get(port, '/api/snapshot')).text,
        (await act(port, { action: 'free', name: 'x', confirm: 'x' }, auth)).text,
        lines.join(),
        JSON.stringify(actions),
      ];
      const [, secret = ''] = lease.token.split(':');
      expect(texts[0]).to.contain('"held"');
      for (const text of texts)
        for (const hidden of [PASSWORD, secret, TOKEN]) expect(text).to.not.contain(hidden);
      stop.abort();
      await waits;
      await lease.release();
    });
  });

  describe('the stream', () => {
    /** Its events so far, merged. */
    async function follow(
      port: number,
      query = '',
    ): Promise<{ shown: Partial<DashboardSnapshot>; close(): void }> {
      const sent = send({ port, path: `/api/events${query}`, host: '127.0.0.1' });
      sent.end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      expect(response.headers['content-type']).to.equal('text/event-stream; charset=utf-8');
      const followed = { shown: {}, close: () => void sent.destroy() };
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        const blocks = (text + chunk).split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) {
          const [, data] = /^event: change\ndata: (.*)$/s.exec(block) ?? [];
          if (data !== undefined) Object.assign(followed.shown, JSON.parse(data));
        }
      });
      response.on('error', () => undefined);
      return followed;
    }

    it('a lock that is taken comes, and goes when it is released', async () => {
      const followed = await follow(await serve());
      await eventually(() => followed.shown.locks !== undefined);
      const lease = await other.acquire('x');
      await eventually(() => followed.shown.locks?.rows[0]?.name === 'x');
      await lease.release();
      await eventually(() => followed.shown.locks?.matching === 0);
      followed.close();
    });

    it('a name that is an attack comes as it is, in one line of JSON', async () => {
      const lease = await other.acquire(NASTY);
      const followed = await follow(await serve(), `?lock=${encodeURIComponent(NASTY)}`);
      await eventually(() => followed.shown.lock?.name === NASTY);
      expect(followed.shown.locks?.rows[0]?.name).to.equal(NASTY);
      followed.close();
      await lease.release();
    });

    it('what an instance has done that holds nothing: by its record', async () => {
      const followed = await follow(await serve());
      const seconds = (): number => followed.shown.minute?.held.filter((held) => held !== null).length ?? 0;
      await eventually(() => seconds() >= 3);
      const counts = { ageMs: 4_000, acquired: 40, lost: 0, waits: [0, 40] };
      for (const hand of hands)
        await hand.set(
          clientKey('', 'client12'),
          recordText({ id: 'client12', label: 'api-3' }, { held: [], beat: 1, waits: [], counts }),
        );
      await eventually(
        () => followed.shown.minute?.shared?.acquired.some((rate) => Number(rate) >= 10) === true,
      );
      expect(followed.shown.minute?.shared?.waitP50).to.include(1.189);
      followed.close();
    });

    it('it ends when the dashboard is closed', async () => {
      const port = await serve();
      const sent = send({ port, path: '/api/events', host: '127.0.0.1' });
      sent.end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      open[0]?.page.close();
      await once(response, 'end');
    });

    it('a hundred may look; one more is asked to come back', async () => {
      const port = await serve();
      const all = [];
      for (let i = 0; i < 100; i++) all.push(await follow(port));
      expect((await get(port, '/api/events')).status).to.equal(503);
      for (const one of all) one.close();
      await eventually(async () => (await get(port, '/api/snapshot')).status === 200);
    });
  });

  describe('actions', () => {
    it('free: the votes are gone, the first waiter has it, and a line and an event say who did it', async () => {
      const port = await serve({ authorize: () => 'ada' });
      const lease = await other.acquire('x');
      const next = redlock.acquire('x', { waitMs: PATIENT.waitMs });
      await eventually(async () => (await redlock.inspect('x')).waiting === 1);
      const { status, text } = await act(port, { action: 'free', name: 'x', confirm: 'x' });
      expect([status, JSON.parse(text)]).to.deep.equal([
        200,
        { done: true, outcome: `released on ${NODES} of ${NODES} masters` },
      ]);
      const gained = await next;
      await lease.extend().then(
        () => expect.fail('it was taken away'),
        (error: { code: string }) => expect(error.code).to.equal('LOCK_LOST'),
      );
      expect(actions).to.deep.equal([
        {
          action: 'free',
          name: 'x',
          by: 'ada',
          from: '127.0.0.1',
          done: true,
          outcome: `released on ${NODES} of ${NODES} masters`,
        },
      ]);
      expect(lines).to.deep.equal([
        `quorate dashboard: free "x" by "ada" from 127.0.0.1: released on ${NODES} of ${NODES} masters`,
      ]);
      await gained.release();
    });

    it('the name must be typed as it is; nothing is done, and nothing is logged', async () => {
      const port = await serve();
      const lease = await other.acquire('x');
      for (const confirm of ['X', 'x ', '', undefined, ['x']])
        expect((await act(port, { action: 'free', name: 'x', confirm })).status).to.equal(400);
      expect([lease.status, lines]).to.deep.equal(['held', []]);
      await lease.extend();
      await lease.release();
    });

    it('a free lock, a value without expiry, a value of another program: refused with the reason, and logged', async () => {
      const port = await serve();
      for (const hand of hands) {
        await hand.set('data', 'x'.repeat(33));
        await hand.set('foreign', 'something else', 'PX', 60_000);
      }
      for (const [name, reason] of [
        ['nothing', 'nobody holds it'],
        ['data', 'without expiry'],
        ['foreign', 'did not write'],
      ] as const) {
        const { status, text } = await act(port, { action: 'free', name, confirm: name });
        expect([status, JSON.parse(text).done]).to.deep.equal([409, false]);
        expect(JSON.parse(text).outcome).to.contain(reason);
      }
      expect(await hands[0]?.get('foreign')).to.equal('something else');
      expect(actions.map(({ done }) => done)).to.deep.equal([false, false, false]);
    });

    it('a name with line breaks: still one line in the log', async () => {
      const port = await serve();
      const name = 'x\nquorate dashboard: free "y" by "root"';
      await act(port, { action: 'free', name, confirm: name });
      expect(lines).to.have.length(1);
      expect(lines[0]).to.not.match(/[\r\n]/);
    });

    it('read-only: none is offered, and each is refused', async () => {
      const port = await serve({ readOnly: true });
      const lease = await other.acquire('x');
      expect((await snapshot(port)).actions).to.deep.equal({ free: false, steal: false, depose: false });
      expect((await act(port, { action: 'free', name: 'x', confirm: 'x' })).status).to.equal(403);
      await lease.extend();
      await lease.release();
    });

    it('steal: the holder is told, and the next one has it when its time is over; depose: nobody leads', async () => {
      const port = await serve({ graceMs: 100 });
      const lease = await other.acquire('x');
      const waiting = Redlock.connect(masters.urls, PATIENT);
      const next = waiting.acquire('x');
      await eventually(async () => (await other.inspect('x')).waiting === 1);
      const stolen = await act(port, { action: 'steal', name: 'x', confirm: 'x' });
      expect([stolen.status, JSON.parse(stolen.text).outcome]).to.deep.equal([
        200,
        `released on ${NODES} of ${NODES} masters`,
      ]);
      expect((await next).fence).to.be.above(lease.fence ?? Infinity);
      await waiting.close({ releaseHeld: true });
      await lease.extend().catch(() => undefined); // it learns of it
      expect(lease.status).to.equal('lost');
      const deposed = await act(port, { action: 'depose', name: 'boss', confirm: 'boss' });
      expect([deposed.status, JSON.parse(deposed.text).outcome]).to.deep.equal([409, 'nobody leads']);
    });

    it('what is no order is refused', async () => {
      const port = await serve();
      for (const body of [
        {},
        { action: 'drop', name: 'x', confirm: 'x' },
        { action: 'free', name: 1, confirm: 1 },
        [],
      ])
        expect((await act(port, body)).status).to.equal(400);
    });

    it('forged: without its header, as a form, from another site, by GET, too long', async () => {
      const port = await serve();
      const lease = await other.acquire('x');
      const order = { action: 'free', name: 'x', confirm: 'x' };
      const body = JSON.stringify(order);
      const post = (headers: Record<string, string>): Promise<Got> =>
        get(port, '/api/actions', { method: 'POST', headers, body });
      expect((await post({ 'content-type': 'application/json' })).status).to.equal(403);
      expect((await post({ 'content-type': 'text/plain', 'x-quorate-dashboard': '1' })).status).to.equal(415);
      expect((await act(port, order, { 'sec-fetch-site': 'cross-site' })).status).to.equal(403);
      expect((await act(port, order, { origin: 'https://evil.example' })).status).to.equal(403);
      expect((await act(port, order, { host: 'evil.example' })).status).to.equal(403);
      expect((await get(port, '/api/actions')).status).to.equal(405);
      expect((await act(port, { ...order, more: 'x'.repeat(20_000) })).status).to.equal(400);
      await lease.extend();
      expect(lines).to.deep.equal([]);
      await lease.release();
    });
  });

  describe('the page', () => {
    it('has nothing inline, and headers that allow nothing from elsewhere', async () => {
      const { headers, status, text } = await get(await serve(), '/');
      expect(status).to.equal(200);
      expect(text).to.not.match(/<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=/i);
      expect(headers['content-security-policy']).to.match(
        /^default-src 'none'; script-src 'self'; style-src 'self';/,
      );
      expect(headers['content-security-policy']).to.not.contain('unsafe');
      expect(headers).to.include({ 'x-frame-options': 'DENY', 'x-content-type-options': 'nosniff' });
      const { headers: data } = await get(await serve(), '/api/snapshot');
      expect(data['cache-control']).to.equal('no-store');
      expect(data).to.not.have.property('access-control-allow-origin');
    });

    it('comes again only if it has changed', async () => {
      const port = await serve();
      const { headers } = await get(port, '/');
      const again = await get(port, '/', { headers: { 'if-none-match': String(headers['etag']) } });
      expect([again.status, again.text]).to.deep.equal([304, '']);
    });

    it('other paths go on to the next handler, or are none', async () => {
      const port = await serve({ basePath: '/locks' });
      expect((await get(port, '/')).status).to.equal(404);
      expect((await get(port, '/locksmith')).status).to.equal(404);
      expect((await get(port, '/locks/../page.css')).status).to.equal(404);
      expect((await get(port, '/locks')).headers['location']).to.equal('./locks/');
      expect((await get(port, '/locks/')).status).to.equal(200);
      expect((await get(port, '/locks/', { method: 'DELETE' })).status).to.equal(405);
    });
  });

  it('fetch: let in by a token, and never without one, since it does not know from where', async () => {
    const page = dashboard(redlock, { token: TOKEN, basePath: '/locks' });
    const at = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
      page.fetch(new Request(`http://localhost${path}`, { headers }));
    const auth = { authorization: `Bearer ${TOKEN}` };
    expect((await at('/locks/')).status).to.equal(200);
    expect((await at('/elsewhere')).status).to.equal(404);
    expect((await at('/locks/api/snapshot')).status).to.equal(401);
    expect(await (await at('/locks/api/snapshot', auth)).json()).to.have.property('masters');
    const events = await at('/locks/api/events', auth);
    const reader = events.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).to.match(/^event: change\n/);
    await reader?.cancel();
    page.close();
    const open = dashboard(redlock);
    expect((await open.fetch(new Request('http://localhost/api/snapshot'))).status).to.equal(403);
    open.close();
  });

  it('options that make no sense are refused, and a token is not shown', () => {
    for (const wrong of [
      { token: 'short' },
      { token: 'with spaces in between' },
      { basePath: 'locks' },
      { names: '' },
      { graceMs: -1 },
    ])
      expect(() => dashboard(redlock, wrong))
        .to.throw()
        .with.property('code', 'INVALID_ARGUMENT');
    expect(() => dashboard(redlock, { token: 'short' }))
      .to.throw()
      .with.property('message')
      .that.does.not.contain('short');
    expect(() => dashboard({} as Redlock))
      .to.throw()
      .with.property('code', 'INVALID_ARGUMENT');
  });
});
