import { expect } from 'chai';
import { build } from 'esbuild';

describe('quorate/fence', () => {
  it('loads what its guards need, and nothing that sends, waits or decides', async () => {
    const { metafile } = await build({
      entryPoints: ['lib/fence/index.ts'],
      bundle: true,
      platform: 'node',
      format: 'esm',
      packages: 'external',
      metafile: true,
      write: false,
    });
    const files = Object.entries(metafile.inputs).filter(([, { bytes }]) => bytes > 0);
    expect(files.map(([file]) => file).sort()).to.deep.equal([
      'lib/fence/index.ts',
      'lib/fence/memory.ts',
      'lib/fence/redis.ts',
      'lib/fence/refusal.ts',
      'lib/fence/sql.ts',
      'lib/input/option-names.ts',
      'lib/redis/glide/errors.ts',
      'lib/redis/glide/scripts.ts',
      'lib/redis/ioredis/database.ts',
      'lib/redis/ioredis/scripts.ts',
      'lib/redis/node-redis/scripts.ts',
      'lib/redis/script.ts',
      'lib/redis/scripts.ts',
      'lib/runtime/errors.ts',
    ]);
    const external = Object.values(metafile.outputs).flatMap(({ imports }) => imports);
    expect(external.map(({ path }) => path)).to.deep.equal(['node:crypto']);
  });
});
