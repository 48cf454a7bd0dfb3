import { expect } from 'chai';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readLedger } from '../../../examples/jobs/ledger.js';
import { needs } from '../../support/parts.js';
import { canLookForThem, descendants, isAlive } from './descendants.js';

/** The whole example as a user starts it, in real processes and on real masters. Waits for what it prints, not for time. */
describe('examples/jobs: a run', function () {
  let output: string;
  let child: ChildProcess | undefined;

  beforeEach(() => {
    output = mkdtempSync(join(tmpdir(), 'quorate-jobs-'));
  });

  afterEach(() => {
    if (child?.exitCode === null) child.kill('SIGKILL');
    rmSync(output, { recursive: true });
  });

  interface Started {
    readonly lines: string[];
    readonly exit: Promise<unknown>;
    /** The next line that fits; undefined when it ended without. */
    line(fits: RegExp): Promise<string | undefined>;
  }

  function start(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Started & { pid: number } {
    const started = spawn(
      process.execPath,
      ['--import', 'tsx', 'examples/jobs/main.ts', '--output', output, ...args],
      {
        env: { ...process.env, QUORATE_NODES: '', ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    child = started;
    const lines: string[] = [];
    const waiting = new Set<(line: string | undefined) => void>();
    for (const input of [started.stdout, started.stderr]) {
      createInterface({ input }).on('line', (line) => {
        lines.push(line);
        for (const hear of waiting) hear(line);
      });
    }
    const exit = once(started, 'close').then(([code]: unknown[]) => {
      for (const hear of waiting) hear(undefined);
      return code;
    });
    const line = (fits: RegExp): Promise<string | undefined> =>
      new Promise((resolve) => {
        const hear = (text: string | undefined): void => {
          if (text !== undefined && !fits.test(text)) return;
          waiting.delete(hear);
          resolve(text);
        };
        waiting.add(hear);
      });
    return { lines, exit, line, pid: started.pid ?? 0 };
  }

  it('ends with exit code 0 when every job ran once, leaves a picture and no process', async () => {
    const { lines, exit, line, pid } = start([
      '--jobs',
      '30',
      '--workers',
      '4',
      '--ttl',
      '600',
      '--seed',
      '7',
    ]);
    await line(/paused in the middle/);
    const mine = canLookForThem ? descendants(pid) : [];
    expect(await exit, lines.join('\n')).to.equal(0);
    expect(lines).to.include('Every job ran once.');
    expect(lines.join('\n')).to.match(/accepted effects per job +1 /);
    expect(lines.join('\n')).to.match(/fences rise with every grant +yes, /);
    expect(lines.join('\n')).to.match(/stale effects refused +[1-9]\d*, by the ledger/);
    const stale = readLedger(join(output, 'jobs-ledger.ndjson')).filter(({ kind }) => kind === 'stale');
    expect(stale[0]?.leaseSaid).to.equal('LOCK_LOST');
    expect(mine.filter(isAlive)).to.deep.equal([]);
    if (canLookForThem) expect(mine.length).to.be.greaterThan(5); // it was looked at the right processes
    for (const file of ['jobs.html', 'jobs.svg', 'jobs-ledger.ndjson', 'jobs-history.ndjson']) {
      expect(existsSync(join(output, file)), file).to.equal(true);
    }
  });

  for (const [signal, code, moment] of [
    ['SIGINT', 130, /frozen$/],
    ['SIGTERM', 143, /the workers start|jobs done/],
  ] as const) {
    it(`leaves no process after ${signal}, also when it comes twice`, async function () {
      needs(this, '/proc');
      const { lines, exit, line, pid } = start(['--jobs', '30', '--workers', '4', '--ttl', '600']);
      expect(await line(moment), lines.join('\n')).not.to.equal(undefined);
      const mine = descendants(pid);
      expect(mine.length).to.be.greaterThan(4);
      process.kill(pid, signal);
      process.kill(pid, signal);
      expect(await exit, lines.join('\n')).to.equal(code);
      expect(mine.filter(isAlive)).to.deep.equal([]);
    });
  }

  it('refuses wrong arguments with exit code 2 and says how it is used', async () => {
    const { lines, exit } = start(['--jobs', 'many']);
    expect(await exit).to.equal(2);
    expect(lines[0]).to.equal('--jobs must be a whole number from 30 to 400; got "many"');
    expect(lines[1]).to.match(/^Usage/);
  });
});
