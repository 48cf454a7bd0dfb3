import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCE = `import { further, wide } from '${join(ROOT, 'spec/support/breadth.ts')}';
it('usual', () => undefined);
further('another', () => undefined);
for (const size of wide([1, 3, 5], [3])) it(\`size \${size}\`, () => undefined);
`;

describe('breadth', () => {
  let folder = '';
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'quorate-breadth-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  // failed once: the copies left out each other's specs, and CI ran 1,500 of 2,500
  it('others are run whether mocha loads their files as ES modules, as CommonJS, or some in one way and some in the other', () => {
    const files = {
      'one.spec.ts': SOURCE,
      'two.spec.ts': `${SOURCE}await Promise.resolve();\n`,
      'three.spec.ts': SOURCE,
    };
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const paths = Object.keys(files).map((name) => join(folder, name));
    const ran = (breadth: string): string | undefined => {
      const { stdout } = spawnSync(
        process.execPath,
        ['node_modules/mocha/bin/mocha.js', '--dry-run', ...paths],
        {
          cwd: ROOT,
          env: { ...process.env, QUORATE_SPECS: breadth },
          encoding: 'utf8',
        },
      );
      return stdout.trim().split('\n').at(-1);
    };
    expect(ran('others')).to.equal('9 passed, 0 failed, 0 skipped');
    expect(ran('usual')).to.equal('6 passed, 0 failed, 0 skipped');
    expect(ran('all')).to.equal('15 passed, 0 failed, 0 skipped');
  });
});
