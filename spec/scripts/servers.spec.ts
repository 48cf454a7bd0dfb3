/** Other servers: what cannot be had is named, and fails. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

describe('servers', function () {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'quorate-servers-'));
    mkdirSync(join(folder, 'bin'));
    symlinkSync('/bin/sh', join(folder, 'bin/sh'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function run(
    script: string,
    ...names: readonly string[]
  ): { code: number | null; out: string; err: string } {
    const env = { PATH: join(folder, 'bin'), XDG_CACHE_HOME: folder };
    const options = { cwd: ROOT, encoding: 'utf8', env } as const;
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join('scripts', script), ...names],
      options,
    );
    return { code: status, out: stdout, err: stderr };
  }

  /** A server that was fetched before, and says that it is of that version. */
  function fetched(name: string, version: string): void {
    const place = join(folder, 'quorate/servers', name);
    mkdirSync(place, { recursive: true });
    const text = `#!/bin/sh\necho 'Redis server v=${version} sha=0'\n`;
    writeFileSync(join(place, 'redis-server'), text, { mode: 0o755 });
  }

  for (const script of ['servers.mjs', 'test-servers.mjs']) {
    it(`${script}: a server that it does not know is refused, with those that it knows`, () => {
      const { code, err } = run(script, 'redis-1.0');
      expect(code).to.equal(2);
      expect(err).to.match(/^redis-1\.0 is none of redis-6\.2, /);
    });

    it(`${script}: one that cannot be had is named with the reasons, and fails`, () => {
      const { code, out } = run(script, 'redis-8.0');
      expect(code).to.equal(1);
      expect(out).to.contain('redis-8.0');
      expect(out).to.contain('there is no apt-get here; no Docker engine answers');
      expect(readdirSync(join(folder, 'quorate/servers'))).to.deep.equal([]);
    });
  }

  it('one that is there is not fetched again', () => {
    fetched('redis-8.0', '8.0.6');
    const { code, out } = run('servers.mjs', 'redis-8.0');
    expect([code, out]).to.deep.equal([
      0,
      `redis-8.0 8.0.6 ${join(folder, 'quorate/servers/redis-8.0/redis-server')}\n`,
    ]);
  });

  it('one that has another version than its name is not taken for it', () => {
    fetched('redis-8.0', '8.10.0');
    expect(run('servers.mjs', 'redis-8.0').code).to.equal(1);
  });
});
