/** How many commands each script runs on a real server, in the cases that docs/LOCKS.md counts: the table is held against it. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { pushChannel } from '../../../lib/protocol/keys.js';
import { queueing } from '../../../lib/protocol/queue-request.js';
import {
  acceptance,
  claimQueued,
  release,
  releaseQueued,
  type Request,
  scriptedClaim,
  undoQueued,
} from '../../../lib/protocol/request.js';
import { MUTEX, SettledScope } from '../../../lib/protocol/scope.js';
import { tokenFrom } from '../../simulation/world/seeded.js';
import { oneListener, oneServer } from '../../support/server.js';

const SCOPE = new SettledScope(['r'], { isFenced: true, marker: 'quorate:guard', guardMs: 0, kind: MUTEX });
const [ANN, BEN, CAT, DAN] = ['ann', 'ben', 'cat', 'dan'].map((name) => tokenFrom(name, '1')) as [
  string,
  string,
  string,
  string,
];
const TTL_MS = 60_000;

/** The rows of the table: case → its commands, as `GET ×3 SET`, and how many they are. */
function documented(): Map<string, string> {
  const text = readFileSync(new URL('../../../docs/LOCKS.md', import.meta.url), 'utf8');
  const [, table = ''] = /<!-- costs -->\n+([^]*?)\n\n/.exec(text) ?? [];
  const rows = table
    .split('\n')
    .slice(2)
    .map((row) => row.split('|').map((cell) => cell.trim()));
  return new Map(
    rows.map(([, what = '', count, commands = '']) => [what, `${count}: ${commands.replaceAll('`', '')}`]),
  );
}

describe('what the scripts of exclusive locks run, on a real server', () => {
  const server = oneServer();
  const listener = oneListener(server);
  const rows = documented();
  beforeEach(() => listener.listenTo(...[ANN, BEN, CAT].map(pushChannel)));

  const send = (request: Request): Promise<unknown> => server.redis.call('EVAL', [...request.whole().args]);
  const look = async (token: string, ticket: number, ttlMs = TTL_MS): Promise<Request> => {
    const lifeMs = TTL_MS + 1_000 * ticket; // each waits for longer than the one before
    const terms = { ticket, lifeMs, sentAtMs: 1, ttlMs, proposal: await server.micros() };
    return queueing(SCOPE, token, terms);
  };
  const hold = (token: string): Promise<unknown> => server.redis.set('r', token, 'PX', TTL_MS);
  const claim = async (token: string): Promise<Request> =>
    scriptedClaim(SCOPE, token, TTL_MS, await server.micros());
  const handing = async (token: string): Promise<Request> =>
    releaseQueued(SCOPE, token, await server.micros());

  /** The commands that the request makes the server run, beside the call itself. */
  async function costOf(request: Request): Promise<string> {
    await server.redis.config('RESETSTAT');
    await send(request);
    const stats = await server.redis.info('commandstats');
    const calls = [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)]
      .filter(([, name = '']) => !['eval', 'config', 'info'].includes(name))
      .map(([, name = '', count]) => ({ name: name.toUpperCase(), count: Number(count) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    const sum = calls.reduce((total, { count }) => total + count, 0);
    return `${sum}: ${calls.map(({ name, count }) => (count === 1 ? name : `${name} ×${count}`)).join(' ')}`;
  }

  const CASES: Readonly<Record<string, () => Promise<Request>>> = {
    'claim, free': () => claim(ANN),
    'claim, held': async () => {
      await hold(BEN);
      return claim(ANN);
    },
    'look, free': () => look(ANN, 1),
    'look, held: the first that waits': async () => {
      await hold(BEN);
      return look(ANN, 1);
    },
    'look, held: behind another': async () => {
      await hold(BEN);
      await send(await look(ANN, 1));
      await send(await look(CAT, 2)); // tidies
      return look(DAN, 3);
    },
    'look, held: behind another, and tidies the queue': async () => {
      await hold(BEN);
      await send(await look(ANN, 1));
      return look(CAT, 2);
    },
    'claim of what was reserved': async () => {
      await hold(BEN);
      await send(await look(ANN, 1, 0));
      await send(release(SCOPE, BEN));
      return claimQueued(SCOPE, ANN, TTL_MS, await server.micros());
    },
    acceptance: async () => {
      await hold(ANN);
      return acceptance(SCOPE, ANN, (await server.micros()) + 1_000 * TTL_MS); // still ahead, however slow the machine is
    },
    'release, nobody waits': async () => {
      await hold(ANN);
      return release(SCOPE, ANN);
    },
    'release, handed over directly': async () => {
      await hold(BEN);
      await send(await look(ANN, 1));
      return handing(BEN);
    },
    'undo, handed over directly': async () => {
      await hold(BEN);
      await send(await look(ANN, 1));
      return undoQueued(SCOPE, BEN, await server.micros());
    },
    'release, handed over directly, and another waits': async () => {
      await hold(BEN);
      await send(await look(ANN, 1));
      await send(await look(CAT, 2));
      return handing(BEN);
    },
    'release, handed over by reservation': async () => {
      await hold(BEN);
      await send(await look(ANN, 1));
      return release(SCOPE, BEN);
    },
  };

  for (const [what, prepare] of Object.entries(CASES)) {
    it(`${what}: as docs/LOCKS.md counts`, async () => {
      expect(await costOf(await prepare())).to.equal(rows.get(what));
    });
  }

  it('docs/LOCKS.md counts these cases and no others', () => {
    expect([...rows.keys()]).to.deep.equal(Object.keys(CASES));
  });
});
