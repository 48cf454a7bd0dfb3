import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Conductor } from './conductor.js';
import { compileClients, CrewMember, type CrewNotes, type CrewOrder } from './crew.js';
import { CONDUCTOR, HistoryFile, PRESENT, readHistory } from './history.js';
import { ORDER } from './orders.js';
import type { ClientBlow } from './plan.js';

/** Its first life is ready at once; a later one reports that it lives, and becomes ready, or ends, on demand. */
const CLIENT = `
const { life } = JSON.parse(process.env.${ORDER});
const ready = () => process.send({ kind: 'ready' });
process.on('disconnect', () => process.exit());
process.on('message', ({ kind }) => (kind === 'stop' ? process.exit(7) : ready()));
if (life === 1) ready();
else process.send({ kind: 'answer', granted: false });
`;
const GO = { kind: 'hand-over', handle: {} as never, mode: undefined, from: 'spec' } as const; // the stub reads only its kind
const CRASH: ClientBlow = { kind: 'crash', client: 0, atMs: 0, forMs: 0 };

function orderIn(folder: string): CrewOrder {
  const names = { seed: 1, urls: [], keys: [], keyPrefix: '', guardMs: 0, folder };
  return { ...names, timestampUrl: '', missed: 'skip', redlock5: undefined };
}

class Watched extends CrewMember {
  looks = 0;

  override get isUp(): boolean {
    this.looks++;
    return super.isUp;
  }
}

describe('chaos run: the crew', () => {
  let folder = '';
  let member: Watched;
  /** What the notes received, in order. */
  let told: string[] = [];
  let onAlive: (() => void) | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quorate-chaos-crew-'));
    const file = join(folder, 'client.mjs');
    writeFileSync(file, CLIENT);
    const programs = [{ version: PRESENT, file }];
    told = [];
    onAlive = undefined;
    const notes: CrewNotes = {
      message: () => onAlive?.(),
      exit: (client, meant, text) => void told.push(`${client} ${meant ? 'meant' : 'not meant'} ${text}`),
    };
    const order = orderIn(folder);
    member = new Watched('c1', programs, order, notes);
  });
  afterEach(async () => {
    await member.kill();
    rmSync(folder, { recursive: true });
  });

  /** Starts it a second time; resolves when that life has begun and is not ready yet. */
  async function startAgain(): Promise<{ started: Promise<void> }> {
    await member.start();
    await member.kill();
    const alive = new Promise<void>((resolve) => (onAlive = resolve));
    const started = member.start();
    started.catch(() => undefined); // looked at below
    await alive;
    return { started };
  }

  it('one that is killed while it starts: its start settles, and the end was meant', async () => {
    const { started } = await startAgain();
    await member.kill();
    await started;
    expect(told).to.deep.equal(['c1 meant SIGKILL', 'c1 meant SIGKILL']);
  });

  it('one that ends by itself while it starts did not start', async () => {
    const { started } = await startAgain();
    member.tell({ kind: 'stop' });
    const error: unknown = await started.catch((reason: unknown) => reason);
    expect(String(error)).to.equal('Error: c1 ended before it was ready (code 7)');
    expect(told.at(-1)).to.equal('c1 not meant code 7');
  });

  it('is up when it is ready, and not before', async () => {
    const { started } = await startAgain();
    expect(member.isUp).to.equal(false);
    member.tell(GO);
    await started;
    expect(member.isUp).to.equal(true);
  });

  it('the conductor does not strike one that starts: each blow is mended before the next', async () => {
    await member.start();
    const history = new HistoryFile(folder, CONDUCTOR);
    // the second blow strikes while the client starts, and the client becomes ready only after that was checked
    const isLookedAt = new Promise<void>((resolve) => {
      onAlive = () => {
        const timer = setInterval(() => {
          if (member.looks < 2) return;
          clearInterval(timer);
          resolve();
        }, 5);
      };
    });
    const go = isLookedAt.then(() => member.tell(GO));
    const conductor = new Conductor({
      masters: [],
      timestamps: [],
      crew: [member],
      guardMs: 0,
      progressMs: 0,
      history,
      signal: new AbortController().signal,
    });
    await conductor.run({ masters: [], timestamps: [], clients: [CRASH, { ...CRASH, atMs: 1_000 }] }, 0);
    await go;
    history.close();
    const noted: string[] = [];
    for await (const { event } of readHistory(join(folder, `${CONDUCTOR}.jsonl`))) noted.push(event.e);
    expect(noted).to.deep.equal(['strike', 'struck', 'mend', 'mended']);
    expect(member.lives).to.equal(2);
    expect(member.isUp).to.equal(true);
  });

  it('a client of another version imports that package, and no file of this one', async function () {
    const stub = join(folder, 'stub');
    mkdirSync(stub);
    writeFileSync(join(stub, 'package.json'), JSON.stringify({ name: 'quorate', exports: './index.mjs' }));
    writeFileSync(
      join(stub, 'index.mjs'),
      'process.exit(42);\nexport const DEFAULTS = 0, Redlock = 0, RedlockError = 0, TimestampLock = 0;\n',
    );
    const { programs, remove } = await compileClients({ commit: '0123456789abcdef', folder: stub });
    try {
      expect(programs.map(({ version }) => version)).to.deep.equal([PRESENT, '0123456']);
      const [present, other] = programs.map(({ file }) => readFileSync(file, 'utf8'));
      expect(present)
        .to.include('// lib/redlock.ts')
        .and.not.match(/from ["']quorate["']/);
      expect(other).to.not.include('// lib/redlock.ts');
      const codes = programs.map(({ file }) => spawnSync(process.execPath, [file]).status);
      expect(codes[1]).to.equal(42);
      expect(codes[0]).to.not.equal(42);
    } finally {
      remove();
    }
  });

  it("a client's lives run the versions in turn", async () => {
    const text = CLIENT.replace('life === 1', 'true');
    const programs = ['a', 'b'].map((version) => {
      const file = join(folder, `${version}.mjs`);
      writeFileSync(
        file,
        `import { writeFileSync } from 'node:fs';\n${text}
writeFileSync(${JSON.stringify(join(folder, ''))} + '/' + life, '${version} ' + JSON.parse(process.env.${ORDER}).version);`,
      );
      return { version, file };
    });
    const order = orderIn(folder);
    const rolling = new CrewMember('c1', programs, order, {
      message: () => undefined,
      exit: () => undefined,
    });
    const ran: string[] = [];
    for (let life = 1; life <= 3; life++) {
      await rolling.start();
      await rolling.stop(120_000);
      ran.push(readFileSync(join(folder, `${life}`), 'utf8'));
    }
    expect(ran).to.deep.equal(['a a', 'b b', 'a a']);
  });
});
