import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { page } from '../../../examples/why/page.js';
import { type Played, surprises, table } from '../../../examples/why/results.js';
import { SCENES } from '../../../examples/why/scenes/index.js';
import { judge, Tape, type Trial } from '../../../examples/why/tape.js';
import { type Way, WAYS } from '../../../examples/why/ways.js';

/** Each scene as it is known to end. */
function asKnown(): Played[] {
  return SCENES.map((scene) => {
    const tape = new Tape('A', 'B', 'C', 'server', 'resource');
    tape.believes('A', 'acquires <b>');
    const trials = WAYS.flatMap((way): [Way, Trial][] => {
      const verdict = scene.expected[way];
      return verdict === undefined ? [] : [[way, { tape, verdict, outcome: 'so it was' }]];
    });
    return { scene, trials: new Map(trials) };
  });
}

describe('examples/why: the verdicts', () => {
  it('two that take the lock for their own at one step have broken it; one after the other has not', () => {
    const tape = new Tape('A', 'B');
    tape.believes('A', 'acquires');
    tape.ends('A', 'releases');
    tape.believes('B', 'acquires');
    expect(judge(tape, 'both', 'one')).to.include({ verdict: 'holds', outcome: 'one' });
    tape.believes('A', 'acquires again');
    tape.say('B', 'goes on');
    expect(judge(tape, 'both', 'one')).to.include({ verdict: 'breaks', outcome: 'both' });
    expect(tape.overlaps).to.deep.equal([{ from: 3, to: 5 }]);
  });

  it('a result other than the known one is reported, for each cell', () => {
    const played = asKnown();
    expect(surprises(played)).to.deep.equal([]);
    const [first] = played;
    if (first === undefined) throw new Error('there are six');
    const token = first.trials.get('token');
    if (token === undefined) throw new Error('it has a part in it');
    const other = new Map(first.trials).set('token', { ...token, verdict: 'breaks' });
    other.delete('quorum');
    const told = surprises([{ ...first, trials: other }]);
    expect(told).to.deep.equal([
      'Clocks apart, token lock, one master: breaks (so it was); expected: holds',
      'Clocks apart, quorum of five: was not played; expected: holds',
    ]);
    expect(page(played, told, '')).to.contain('class="surprise"');
  });

  it('the table has a row for each weakness, and the page escapes what it is given', () => {
    const written = table(asKnown());
    for (const { title } of SCENES) expect(written).to.contain(title);
    expect(page(asKnown(), [], '<x>'))
      .to.contain('acquires &lt;b&gt;')
      .and.contain('&lt;x&gt;');
  });
});

describe('examples/why: a run', function () {
  const output = mkdtempSync(join(tmpdir(), 'quorate-why-'));
  after(() => rmSync(output, { recursive: true }));

  async function run(...args: readonly string[]): Promise<{ readonly code: unknown; readonly said: string }> {
    const child = spawn(process.execPath, ['--import', 'tsx', 'examples/why/main.ts', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => (said += text.toString()));
    const [code] = (await once(child, 'close')) as [unknown];
    return { code, said };
  }

  it('shows each weakness live as it is known, and writes a page that fetches nothing', async () => {
    const { code, said } = await run('--output', output);
    expect(said).to.not.contain('NOT AS KNOWN');
    expect(code, said).to.equal(0);
    const html = readFileSync(join(output, 'why.html'), 'utf8');
    expect(html.match(/<svg /g)).to.have.length(2 * SCENES.length);
    expect(html).to.not.match(/(?:src|href)="(?!#)|url\(|@import/);
    expect(html).to.contain('prefers-color-scheme:dark');
  });

  it('an option that it does not know ends it before anything is started', async () => {
    const { code, said } = await run('--speed=5');
    expect(code).to.equal(2);
    expect(said).to.contain("'--speed'").and.contain('npm run examples -- why');
  });
});
