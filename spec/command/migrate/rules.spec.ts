/** `quorate migrate`, rule by rule, on small pieces of code. */
import { expect } from 'chai';
import { parse } from '@babel/parser';
import { migrated, shown, type Terms } from './support/fixtures.js';

const IMPORT = "import Redlock from 'redlock';\n";
const INSTANCE = 'const redlock = new Redlock([redis], { retryCount: 1, retryDelay: 10 });\n';
const OURS = "import { Redlock } from 'quorate';\nconst redlock = new Redlock([redis], { waitMs: 10 });\n";

const imports = (code: string, terms: Partial<Terms> = {}): string =>
  migrated(code, { parse, release: 5, ...terms }).after;

/** With `--api`: the new text without its first two lines, and what was found. */
function calls(code: string, terms: Partial<Terms> = {}): { readonly text: string; readonly found: string } {
  const migration = migrated(IMPORT + INSTANCE + code, { parse, release: 5, isApi: true, ...terms });
  const text = migration.after.startsWith(OURS) ? migration.after.slice(OURS.length) : migration.after;
  return { text, found: migration.findings.map((finding) => shown(migration, finding)).join('\n') };
}

describe('the command migrate: imports', () => {
  const forms: readonly (readonly [before: string, after: string])[] = [
    [`import Redlock, { Lock } from "redlock";`, `import Redlock, { Lock } from "quorate/redlock";`],
    [`import * as all from 'redlock'`, `import * as all from 'quorate/redlock'`],
    [`import type { Settings } from 'redlock';`, `import type { Settings } from 'quorate/redlock';`],
    [`import 'redlock';`, `import 'quorate/redlock';`],
    [`import Redlock = require('redlock');`, `import Redlock = require('quorate/redlock');`],
    [`export { default, Lock } from 'redlock';`, `export { default, Lock } from 'quorate/redlock';`],
    [`export * from 'redlock';`, `export * from 'quorate/redlock';`],
    ['const Redlock = require(`redlock`).default;', 'const Redlock = require(`quorate/redlock`).default;'],
    [`const at = require.resolve('redlock');`, `const at = require.resolve('quorate/redlock');`],
    [`const it = await import('redlock');`, `const it = await import('quorate/redlock');`],
    [`let a: import('redlock').Lock;`, `let a: import('quorate/redlock').Lock;`],
    [`let a: typeof import('redlock');`, `let a: typeof import('quorate/redlock');`],
    [`vi.mock('redlock', () => ({}));`, `vi.mock('quorate/redlock', () => ({}));`],
    [`await vi.importActual('redlock');`, `await vi.importActual('quorate/redlock');`],
    [`jest.doMock("redlock");`, `jest.doMock("quorate/redlock");`],
    [`mock.module('redlock', {});`, `mock.module('quorate/redlock', {});`],
    [`import { Redlock } from '@sesamecare-oss/redlock';`, `import { Redlock } from 'quorate/redlock';`],
  ];
  for (const [before, after] of forms)
    it(before, () => {
      expect(imports(before)).to.equal(after);
      expect(imports(before.replace('@sesamecare-oss/', ''), { release: 4 })).to.equal(
        after.replace('quorate/redlock', 'quorate/redlock4'),
      );
    });

  it('other texts that read redlock stay, and so do the packages of others', () => {
    const code = `import x from 'redlock-universal';\nprovide('redlock');\nconst redlock = { redlock: 'redlock' };\n`;
    expect(imports(code)).to.equal(code);
  });

  it('files within the package, and declarations of its types, are left alone', () => {
    const code = `import x from 'redlock/dist/cjs/index.js';\ndeclare module 'redlock' {}\n`;
    const migration = migrated(code, { parse, release: 5 });
    expect(migration.after).to.equal(code);
    expect(migration.findings.map((finding) => shown(migration, finding))).to.deep.equal([
      'left 1:15 redlock/dist/cjs/index.js is a file within the package, which quorate has not',
      'left 2:1 types for redlock: quorate has its own',
    ]);
  });

  it('JSX, decorators and accessors parse; what does not parse is an error', () => {
    const code = `import Redlock from 'redlock';\nexport const View = () => <b>{<i />}</b>;\n`;
    for (const path of ['a.jsx', 'a.tsx', 'a.js']) expect(imports(code, { path })).to.contain('quorate');
    expect(imports(`import R from 'redlock';\n@A class B { @C accessor d = <R>e; }`)).to.contain('quorate');
    expect(() => imports('import Redlock from')).to.throw('Unexpected token');
  });
});

describe('the command migrate: --api', () => {
  const rewritten: readonly (readonly [before: string, after: string])[] = [
    [`await redlock.acquire(['a'], 1000);`, `await redlock.acquire(['a'], { ttlMs: 1000 });`],
    [`await redlock.acquire(names, (a, b));`, `await redlock.acquire(names, ({ ttlMs: (a, b) }));`],
    [
      `const r = redlock;\nawait r.acquire(['a'], 1);`,
      `const r = redlock;\nawait r.acquire(['a'], { ttlMs: 1 });`,
    ],
    [
      `let l = null;\nl = await redlock.acquire(['a'], ttlMs);\nl.value;`,
      `let l = null;\nl = await redlock.acquire(['a'], { ttlMs });\nl.token;`,
    ],
    [
      `redlock.acquire(['a'], 1).then((l) => f(l.value));`,
      `redlock.acquire(['a'], { ttlMs: 1 }).then((l) => f(l.token));`,
    ],
    [`redlock.using(['a'], 1, async () => {});`, `redlock.using(['a'], { ttlMs: 1 }, async () => {});`],
    [
      `redlock.using(['a'], 1, async function (s) { s.error; x.error; });`,
      `redlock.using(['a'], { ttlMs: 1 }, async function ({ signal: s }) { s.reason; x.error; });`,
    ],
    [
      `redlock.using(['a'], 1, async (signal) => { const f = (signal) => signal.error; });`,
      `redlock.using(['a'], { ttlMs: 1 }, async ({ signal }) => { const f = (signal) => signal.error; });`,
    ],
    [
      `function f(l: import('redlock').Lock) { return l.value; }`,
      `function f(l: import('quorate').Lease) { return l.token; }`,
    ],
    [
      `function f(r: Redlock | null, l) { return r!.release(l!); }`,
      `function f(r: Redlock | null, l) { return l!.release(); }`,
    ],
    [
      `class A { constructor(private r: Redlock) {} f() { return () => this.r.acquire(['a'], 1); } }`,
      `class A { constructor(private r: Redlock) {} f() { return () => this.r.acquire(['a'], { ttlMs: 1 }); } }`,
    ],
    [
      `class A { r?: Redlock; f() { this.r?.acquire(['a'], 1); } }`,
      `class A { r?: Redlock; f() { this.r?.acquire(['a'], { ttlMs: 1 }); } }`,
    ],
  ];
  for (const [before, after] of rewritten)
    it(before.replaceAll('\n', ' '), () => {
      const { text, found } = calls(before);
      expect(text).to.equal(after);
      expect(found).to.not.contain('left');
    });

  it('settings keep their comments, except those of settings that go', () => {
    const settings = (text: string): string =>
      migrated(`${IMPORT}new Redlock(c, ${text});`, { parse, release: 5, isApi: true })
        .after.split('\n')
        .slice(1)
        .join('\n');
    expect(settings('{\n  // a\n  retryCount: 0, // b, c\n  // d\n  retryDelay: 5, // e\n}')).to.equal(
      'new Redlock(c, {\n  // a\n  waitMs: 0, // b, c\n});',
    );
    expect(settings('{ driftFactor: 0.1, retryJitter: 5 }')).to.equal(
      'new Redlock(c, { driftFactor: 0.1 });',
    );
    expect(settings('{ retryJitter: 5, retryDelay: 7, driftFactor, }')).to.equal(
      'new Redlock(c, { waitMs: 70, driftFactor, });',
    );
    expect(settings('{ retryCount: N, retryDelay: a + b }')).to.equal(
      'new Redlock(c, { waitMs: N * (a + b) });',
    );
    expect(settings('{ automaticExtensionThreshold: 5 }')).to.equal('new Redlock(c);');
    for (const text of ['{\n  //\n}', '{ driftFactor: 0.1 }'])
      expect(settings(text)).to.equal(`new Redlock(c, ${text});`);
  });

  const left: readonly (readonly [code: string, why: string])[] = [
    [`const l = await redlock.acquire(...args);`, 'the arguments are spread'],
    [`await redlock.acquire(['a'], 1, settings);`, 'the settings are not an object literal here'],
    [`await redlock.acquire(['a'], 1, { ...settings });`, 'a part of the settings is not a plain property'],
    [`redlock.using(['a'], 1, routine);`, 'the routine is not written here'],
    [`redlock.using(['a'], 1, async ({ aborted }) => {});`, 'the routine takes its signal apart'],
    [`redlock.using(['a'], 1, async (signal, context) => {});`, 'a second parameter'],
    [`const { acquire } = redlock;`, 'it is taken apart here'],
    [`redlock.settings.retryCount;`, 'settings of a Redlock'],
    [`redlock.once('clientError', f);`, 'other events'],
    [`const done = await redlock.release(lock);`, 'release resolves with nothing'],
    [`async function f(l: import('redlock').Lock) { g(await l.extend(2)); }`, 'extend resolves with nothing'],
    [`this[LOCK].on('clientError', f);`, 'this[LOCK] could not be followed to a Redlock'],
    [`make().acquire(['a'], 1);`, 'make() could not be followed to a Redlock'],
    [`app.redlock.acquire(['a'], 1);`, 'app.redlock could not be followed to a Redlock'],
    [
      `function f(redlock) { return redlock.acquire(['a'], 1); }`,
      'redlock could not be followed to a Redlock',
    ],
    [`for (const lock of locks) lock.unlock();`, 'lock could not be followed to a Lock'],
    [`let r = redlock; r = other; r.acquire(['a'], 1);`, 'r is a Redlock or a Lock at times only'],
    [`if (error.name === 'ExecutionError') f();`, 'quorate has one class of errors'],
  ];
  for (const [code, why] of left)
    it(`left alone: ${code}`, () => {
      const { text, found } = calls(code);
      expect(text).to.equal(code.replace("import('redlock').Lock", "import('quorate').Lease"));
      expect(found)
        .to.match(/^left 3:/m)
        .and.to.contain(why);
    });

  const held: readonly (readonly [code: string, why: string])[] = [
    [`redlock.lock('a', 1, (error, lock) => {});`, 'callbacks'],
    [`redlock.lockWithOptions('a', 1, { retryCount: 0 });`, 'lockWithOptions has no counterpart'],
    [`using(redlock.disposer('a', 1), () => {});`, 'disposer has no counterpart'],
    [`class Mine extends Redlock {}`, 'extends Redlock'],
    [`new Redlock([redis], { lockScript: (script) => script });`, 'scripts of your own'],
    [`expect(f).to.throw(Redlock.LockError);`, 'another place than behind instanceof'],
    [`Redlock.prototype.acquire = f;`, 'Redlock.prototype has no counterpart'],
    [`export { Redlock };`, 'exported to other files'],
    [`const RedlockError = 1; error instanceof Redlock.LockError;`, 'the file has another RedlockError'],
    [`f(error)[0] instanceof Redlock.LockError;`, 'another place than behind instanceof'],
  ];
  for (const [code, why] of held)
    it(`the whole file keeps the API that it has: ${code}`, () => {
      const { text, found } = calls(code, { release: 4 });
      expect(text).to.equal(IMPORT.replace('redlock', 'quorate/redlock4') + INSTANCE + code);
      expect(found)
        .to.match(/^hold \d:/)
        .and.to.contain(why);
    });

  it('checks of errors keep their meaning within other conditions', () => {
    const code = `import { LockError, ResourceLockedError as Busy } from 'redlock';
if (!(e instanceof Busy)) throw e;
const a = e instanceof LockError && e.message;
const b = x || this.error instanceof Busy;
`;
    expect(migrated(code, { parse, release: 5, isApi: true }).after).to
      .equal(`import { RedlockError } from 'quorate';
if (!(RedlockError.is(e) && e.code === 'LOCK_TAKEN')) throw e;
const a = RedlockError.is(e) && e.code !== 'INVALID_ARGUMENT' && e.message;
const b = x || (RedlockError.is(this.error) && this.error.code === 'LOCK_TAKEN');
`);
  });

  it('a name that hides the import is not the import', () => {
    const code = `function f(Redlock) { const r = new Redlock([a], { retryCount: 1 }); r.acquire(['a'], 1); }`;
    expect(calls(code).text).to.equal(code);
  });

  it('a file that imports no redlock changes nothing, and names the calls that look like it', () => {
    const code = `import { redlock } from './locks.js';\nawait redlock.acquire(['a'], 1000);\nawait redlock.acquire('a', { ttlMs: 1 });\nawait redlock.using('a', async () => {});\n`;
    const migration = migrated(code, { parse, isApi: true });
    expect(migration.after).to.equal(code);
    expect(migration.findings.map((finding) => shown(migration, finding))).to.deep.equal([
      'left 2:7 redlock could not be followed to a Redlock of this file: acquire is left as it is',
    ]);
  });
});
