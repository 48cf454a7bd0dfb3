/** The page in a browser, as `quorate dashboard` serves it, on real masters. */
import axe from 'axe-core';
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';
import { recordText } from '../../lib/lease/instance-record.js';
import { clientKey } from '../../lib/protocol/keys.js';
import { Redlock } from '../../lib/redlock.js';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { program, Running } from '../command/support/program.js';
import { needs, partOf } from '../support/parts.js';
import { PATIENT } from '../support/patience.js';
import { byHand, eventually } from '../support/real.js';

const NODES = 3;
const NASTY = '<img src=x onerror="document.title=1">';
const WIDTHS = [360, 768, 1_280, 2_560];
/** A second, and the time that a busy machine may take for the rest. */
const LONG = { timeout: 60_000 };

describe(`the dashboard's page: N=${NODES}, real masters, Chromium`, function () {
  let masters: Masters;
  let redlock: Redlock;
  let hands: readonly Redis[];
  let env: Readonly<Record<string, string>>;
  let browser: Browser;
  let url = '';
  const running: Running[] = [];
  const pages: Page[] = [];
  const faults: string[] = [];

  before(async function () {
    needs(this, 'chromium');
    program();
    masters = await startMasters(NODES, { backend: 'process' });
    hands = masters.list.map(({ port }) => byHand(port));
    redlock = Redlock.connect(masters.urls, PATIENT);
    await redlock.ready();
    env = { QUORATE_NODES: masters.urls.join(',') };
    browser = await puppeteer.launch({
      executablePath: partOf('chromium') ?? '',
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
      protocolTimeout: 170_000,
    });
    url = await serve();
  });
  after(async () => {
    await browser?.close();
    for (const one of running) one.process.kill('SIGKILL');
    for (const hand of hands ?? []) hand.disconnect();
    await redlock?.close({ releaseHeld: true, drainMs: 0 });
    await masters?.stop();
  });
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.close();
    for (const hand of hands) await hand.flushall();
    expect(faults.splice(0)).to.deep.equal([]);
  });

  function start(...args: readonly string[]): Running {
    const one = new Running(args, { env });
    running.push(one);
    return one;
  }

  async function serve(...flags: readonly string[]): Promise<string> {
    const one = start('dashboard', '--port', '0', ...flags);
    await one.says('/\n');
    return one.out.trim();
  }

  async function open(path = '', { width = 1_280, scheme = 'light', at = url } = {}): Promise<Page> {
    const page = await browser.newPage();
    pages.push(page);
    page.on('pageerror', (error) => void faults.push(String(error)));
    page.on('console', (message) => {
      // a stream that is cut off is a line of the browser's own
      if (message.type() === 'error' && !/net::|status of 401/.test(message.text()))
        faults.push(message.text());
    });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.setViewport({ width, height: 900 });
    await page.goto(at + path, { waitUntil: 'load' });
    return page;
  }

  // what runs in the page is text: nothing here has the types of a browser
  const until = (page: Page, expression: string): Promise<unknown> => page.waitForFunction(expression, LONG);
  const shows = (page: Page, text: string): Promise<unknown> =>
    until(page, `document.body.innerText.includes(${JSON.stringify(text)})`);
  const lacks = (page: Page, text: string): Promise<unknown> =>
    until(page, `!document.body.innerText.includes(${JSON.stringify(text)})`);
  const valueOf = (page: Page, expression: string): Promise<unknown> => page.evaluate(expression);
  const textOf = async (page: Page): Promise<string> =>
    String(await valueOf(page, 'document.body.innerText'));
  const title = 'document.querySelector("dialog[open] h2")?.textContent';
  const violations = async (page: Page): Promise<readonly string[]> => {
    // not by a tag of a script: the page's policy allows none
    await page.evaluate(axe.source);
    const found = (await page.evaluate(
      'axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })',
    )) as {
      readonly violations: readonly {
        readonly id: string;
        readonly nodes: readonly { readonly html: string }[];
      }[];
    };
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`);
  };

  /** Locks, a waiter, a leader and a job. @returns what ends them */
  async function fill(): Promise<() => Promise<void>> {
    const leases = [await redlock.acquire('invoice:42'), await redlock.acquire(NASTY)];
    leases.push(
      await redlock.acquire('a-lock-with-a-name-that-goes-on-and-on:and-does-not-end-before-the-screen'),
    );
    const shared = await redlock.readWriteLock('prices').read.acquire();
    const other = Redlock.connect(masters.urls, PATIENT);
    const stop = new AbortController();
    const waits = other
      .acquire('invoice:42', { waitMs: Infinity, signal: stop.signal })
      .catch(() => undefined);
    const leads = await redlock.election('scheduler').campaign('10.0.0.7:80');
    const job = await redlock.job('report', { every: 3_600_000 }, () => undefined);
    await job.run();
    await eventually(async () => (await redlock.inspect('invoice:42')).waiting === 1);
    return async () => {
      stop.abort();
      await waits;
      await job.stop();
      await Promise.all([...leases, shared, leads].map((lease) => lease.release()));
      await other.close();
    };
  }

  it('nothing is held: it says so, and shows the masters', async () => {
    const page = await open();
    await shows(page, 'No lock is held.');
    expect(await textOf(page)).to.match(/3 of 3 up[^]*Nobody leads\.[^]*No job has run\./);
    expect(await valueOf(page, 'getComputedStyle(document.body).margin')).to.equal('0px'); // it has its style
  });

  it('what instances have done in the last minute, by what they report', async () => {
    const page = await open();
    await shows(page, 'No instance shares its counts');
    const report = async (ageMs: number, acquired: number): Promise<void> => {
      const counts = { ageMs, acquired, lost: acquired / 60, waits: [...Array(20).fill(0), acquired] };
      for (const hand of hands)
        await hand.set(
          clientKey('', 'client12'),
          recordText({ id: 'client12', label: 'api-3' }, { held: [], beat: 1, waits: [], counts }),
        );
    };
    await report(100_000, 6_000);
    await shows(page, 'Instances report what they have done');
    await report(106_000, 12_000);
    await until(
      page,
      '/acquired 1,000\\b[^]*lost 17\\b[^]*p50 32 ms\\s+p99 32 ms/.test(document.body.innerText)',
    );
    expect(await violations(page)).to.deep.equal([]);
  });

  it('another process takes a lock, and a second one waits for it: both appear, and go', async () => {
    const page = await open();
    await shows(page, 'No lock is held.');
    const one = start('run', 'report', '--', 'sleep', '600');
    await shows(page, 'report');
    const two = start('run', '--wait', 'forever', 'report', '--', 'sleep', '600');
    await until(page, '/^1\\b/.test(document.querySelector("td[data-name=Waiting]")?.textContent)');
    for (const { process } of [two, one]) process.kill('SIGTERM');
    await Promise.all([one.ends(), two.ends()]);
    await shows(page, 'No lock is held.');
  });

  it('a holder is killed: its lock ends by its ttl, and goes', async () => {
    const page = await open();
    const lease = await redlock.acquire('short', { ttlMs: 3_000, renew: false }); // as that of a dead process
    await shows(page, 'short');
    await shows(page, 'No lock is held.');
    expect(lease.status).to.not.equal('released');
  });

  it('a frozen master is plain to see, and the lock stays held by the others; it comes back', async () => {
    const lease = await redlock.acquire('x');
    const page = await open();
    await shows(page, '3 of 3 up');
    await masters.list[2]?.freeze();
    await shows(page, '2 of 3 up');
    await shows(page, '2/3');
    expect(await page.$$('.master.away')).to.have.length(1);
    expect(await textOf(page)).to.match(/\b(?:silent|down)\b/);
    await masters.list[2]?.thaw();
    await shows(page, '3 of 3 up');
    await lease.release();
    await redlock.ready({ allWithinMs: 60_000 });
  });

  it('free: only once the name is typed; then its holder has lost it', async () => {
    const lease = await redlock.acquire('invoice:42');
    const page = await open();
    await shows(page, 'invoice:42');
    await page.click('.locks .name');
    await page.waitForSelector('dialog[open] .danger', LONG);
    await page.click('dialog .danger');
    await page.waitForSelector('dialog form', LONG);
    await until(page, 'document.activeElement?.form instanceof HTMLFormElement');
    await page.keyboard.type('invoice:4');
    expect(await page.$$('dialog form .danger:disabled')).to.have.length(1);
    await page.keyboard.press('Enter');
    await page.keyboard.type('2');
    await page.waitForSelector('dialog form .danger:not(:disabled)', LONG);
    await page.keyboard.press('Enter');
    await until(page, '/released on [23] of 3 masters/.test(document.body.innerText)'); // a master that has just thawed may not have voted
    await lease.extend().then(
      () => expect.fail('it was freed'),
      ({ code }: { code: string }) => expect(code).to.equal('LOCK_LOST'),
    );
    await eventually(() => running[0]?.complaints.includes('free "invoice:42" by "local"') === true);
  });

  it('read-only: nothing can be taken away', async () => {
    const lease = await redlock.acquire('x');
    const page = await open('?lock=x', { at: await serve('--read-only') });
    await shows(page, 'Read-only');
    expect(await page.$$('.danger')).to.have.length(0);
    await lease.release();
  });

  it('names are text, whatever they are', async () => {
    const lease = await redlock.acquire(NASTY);
    const page = await open(`?lock=${encodeURIComponent(NASTY)}`);
    await until(page, `${title} === ${JSON.stringify(NASTY)}`);
    await shows(page, NASTY);
    expect([await page.title(), (await page.$$('img')).length]).to.deep.equal(['Locks · quorate', 0]);
    await lease.release();
  });

  it('by keyboard: the slash goes to the search, arrows along the locks, Enter opens, Esc closes and goes back', async () => {
    const end = await fill();
    const page = await open('?sort=name');
    await shows(page, 'invoice:42');
    const focused = (): Promise<unknown> => valueOf(page, 'document.activeElement?.textContent');
    await page.focus('.locks .name');
    const first = await focused();
    await page.keyboard.press('ArrowDown');
    const second = await focused();
    expect(second).to.not.equal(first);
    await page.keyboard.press('Enter');
    await until(page, `${title} === ${JSON.stringify(second)}`);
    await page.keyboard.press('Escape');
    await until(page, 'document.querySelector("dialog") === null');
    expect(await focused()).to.equal(second);
    await page.keyboard.press('/');
    await page.keyboard.type('invoice');
    await shows(page, 'match');
    await lacks(page, 'prices');
    await page.keyboard.type('-of-nobody');
    await shows(page, 'No locks match.');
    await page.keyboard.press('Escape');
    await shows(page, 'prices');
    await end();
  });

  it('the server goes away: the page says so, and is live again when it is back', async () => {
    const own = start('dashboard', '--port', '0');
    await own.says('/\n');
    const at = own.out.trim();
    const page = await open('', { at });
    await shows(page, 'live');
    own.process.kill('SIGINT');
    expect(await own.ends()).to.equal(0);
    await shows(page, 'Not connected');
    const again = start('dashboard', '--port', new URL(at).port);
    await again.says('/\n');
    await lacks(page, 'Not connected');
    await shows(page, 'live');
  });

  it('a token is asked for, a wrong one refused, and the right one shows the locks', async () => {
    const token = 'a-token-for-the-browser';
    const page = await open('', { at: await serve('--token', token) });
    await shows(page, 'The token of this dashboard');
    expect(await violations(page)).to.deep.equal([]);
    await page.type('input', 'something-else');
    await page.keyboard.press('Enter');
    await shows(page, 'This is not the token.');
    await valueOf(page, 'document.querySelector("input").select()');
    await page.keyboard.type(token);
    await page.keyboard.press('Enter');
    await shows(page, '3 of 3 up');
  });

  it('10,000 locks: a page of fifty, the next one, and a search, without a wait', async () => {
    const pipelines = hands.map((hand) => hand.pipeline());
    for (let i = 0; i < 10_000; i++)
      for (const pipeline of pipelines)
        pipeline.set(
          `lock:${String(i).padStart(5, '0')}`,
          `client-${i % 10}:${String(i).padStart(24, 's')}`,
          'PX',
          600_000,
        );
    for (const pipeline of pipelines) await pipeline.exec();
    const page = await open('?sort=name');
    await shows(page, '1–50 of 10,000');
    expect(await page.$$('tbody tr')).to.have.length(50);
    await page.click('.pages button:last-child');
    await shows(page, '51–100 of 10,000');
    await page.type('#search', 'lock:0999?');
    await shows(page, '10 of 10,000 match');
  });

  for (const scheme of ['light', 'dark'])
    it(`${scheme}, ${WIDTHS.join(', ')} px: nothing is cut off, and axe finds nothing, with details open too`, async () => {
      const end = await fill();
      const page = await open('', { scheme });
      await shows(page, 'invoice:42');
      await shows(page, 'Doctor:');
      await page.click('summary');
      for (const width of WIDTHS) {
        await page.setViewport({ width, height: 900 });
        const isWhole = await valueOf(page, 'document.documentElement.scrollWidth <= innerWidth');
        expect([width, isWhole, await violations(page)]).to.deep.equal([width, true, []]);
      }
      await valueOf(
        page,
        '[...document.querySelectorAll(".locks .name")].find(({ textContent }) => textContent === "invoice:42").click()',
      );
      await page.waitForSelector('dialog[open] .danger', LONG);
      await page.click('dialog .danger');
      for (const width of WIDTHS) {
        await page.setViewport({ width, height: 900 });
        const isWhole = await valueOf(page, 'document.querySelector("dialog").scrollWidth <= innerWidth');
        expect([width, isWhole, await violations(page)]).to.deep.equal([width, true, []]);
      }
      await end();
    });
});
