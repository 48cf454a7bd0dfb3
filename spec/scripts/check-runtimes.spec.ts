import { spawnSync } from 'node:child_process';
import { expect } from 'chai';

/** The runtimes themselves: `npm run ci:full`. */
describe('npm run check -- runtimes', () => {
  it('a name that it does not know is said, with those that there are, and nothing runs', () => {
    const args = ['scripts/check.mjs', 'runtimes', 'Bun', 'Rhino'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect([status, stdout]).to.deep.equal([2, '']);
    expect(stderr).to.match(/^there is no runtime Rhino; there are Node 20, .*, Node 26, Bun, Deno\n$/);
  });
});
