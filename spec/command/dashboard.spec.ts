/** `quorate dashboard` as a process, on real masters. */
import { expect } from 'chai';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { program, quorate, Running } from './support/program.js';

const NODES = 3;
const TOKEN = 'a-token-of-the-dashboard';

describe(`quorate dashboard: N=${NODES}, real masters`, function () {
  let masters: Masters;
  let env: Readonly<Record<string, string>>;
  const running: Running[] = [];

  before(async () => {
    program();
    masters = await startMasters(NODES, { backend: 'process' });
    env = { QUORATE_NODES: masters.urls.join(',') };
  });
  after(() => masters.stop());
  afterEach(async () => {
    for (const one of running.splice(0)) {
      one.process.kill('SIGKILL');
      await one.ends();
    }
  });

  async function serve(
    args: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ): Promise<Running> {
    const one = new Running(['dashboard', '--port', '0', ...args], { env: { ...env, ...more } });
    running.push(one);
    await one.says('/\n');
    return one;
  }

  const status = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<number> => {
    const response = await fetch(`${url.trim()}api/snapshot`, { headers });
    await response.text();
    return response.status;
  };

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    it(`prints its URL, serves the page with its script and style, and ends on ${signal} with 0, whoever looks`, async () => {
      const one = await serve([]);
      expect(one.out).to.match(/^http:\/\/127\.0\.0\.1:\d+\/\n$/);
      const url = one.out.trim();
      for (const file of ['', 'page.js', 'page.css', 'icon.svg'])
        expect((await fetch(url + file)).headers.get('etag'), file).to.be.a('string');
      const events = await fetch(`${url}api/events`);
      const reader = events.body?.getReader();
      await reader?.read();
      one.process.kill(signal);
      expect(await one.ends()).to.equal(0);
      expect(one.complaints).to.equal('');
    });

  it('a token, by the flag and by the environment: without it, nothing is shown', async () => {
    for (const one of [
      await serve(['--token', TOKEN]),
      await serve([], { QUORATE_DASHBOARD_TOKEN: TOKEN }),
    ]) {
      expect(one.out).to.not.contain(TOKEN);
      expect(await status(one.out)).to.equal(401);
      expect(await status(one.out, { authorization: `Bearer ${TOKEN}` })).to.equal(200);
    }
  });

  it('another host needs a token, and it says so; with one, it listens there', async () => {
    const { code, complaints } = await quorate(['dashboard', '--host', '0.0.0.0'], { env });
    expect([code, complaints]).to.deep.equal([
      64,
      'quorate: --host 0.0.0.0 lets other machines in, so a token is needed: set QUORATE_DASHBOARD_TOKEN; see quorate dashboard --help\n',
    ]);
    const one = await serve(['--host', '0.0.0.0'], { QUORATE_DASHBOARD_TOKEN: TOKEN });
    expect(one.out).to.match(/^http:\/\/0\.0\.0\.0:\d+\/\n$/);
  });

  it('a port that is taken, and a short token: one sentence each', async () => {
    const { port } = new URL((await serve([])).out.trim());
    const taken = await quorate(['dashboard', '--port', port], { env });
    expect([taken.code, taken.complaints]).to.deep.equal([
      71,
      `quorate: cannot listen: listen EADDRINUSE: address already in use 127.0.0.1:${port}; --port takes another port\n`,
    ]);
    const short = await quorate(['dashboard', '--token', 'short'], { env });
    expect([short.code, short.complaints]).to.deep.equal([
      64,
      'quorate: token must have from 16 to 200 visible characters, without spaces\n',
    ]);
  });

  it('--names shows only locks that match', async () => {
    const one = await serve(['--names', 'a*']);
    const holders = ['ab', 'ba'].map((name) => new Running(['run', name, '--', 'sleep', '600'], { env }));
    running.push(...holders);
    for (;;) {
      const { locks } = (await (await fetch(`${one.out.trim()}api/snapshot`)).json()) as {
        readonly locks: { readonly rows: readonly { readonly name: string }[] };
      };
      expect(locks.rows.filter(({ name }) => name !== 'ab')).to.deep.equal([]);
      if (locks.rows.length > 0) break;
    }
    for (const { process } of holders) process.kill('SIGTERM');
    await Promise.all(holders.map((holder) => holder.ends()));
  });
});
