/** What users of redlock have after they changed one import: programs and types, by every format. */

const USE = `
async function proveIt(Redlock, { ExecutionError, Lock, ResourceLockedError }, Redlock4, { LockError }, Redis, urls) {
  const clients = urls.map((url) => new Redis(url));
  const redlock = new Redlock(clients, { retryCount: 1, retryDelay: 10 });
  const lock = await redlock.acquire(['package'], 5000);
  if (!(lock instanceof Lock)) throw new Error('no lock');
  const error = await redlock.acquire(['package'], 5000).catch((thrown) => thrown);
  if (!(error instanceof ExecutionError) || error.attempts.length !== 2) throw error;
  const { votesAgainst } = await error.attempts[0];
  for (const against of votesAgainst.values()) if (!(against instanceof ResourceLockedError)) throw against;
  const redlock4 = new Redlock4(clients, { retryCount: 0 });
  const refused = await redlock4.lock('package', 5000).catch((thrown) => thrown);
  if (!(refused instanceof LockError) || !(refused instanceof Redlock4.LockError)) throw refused;
  await (await lock.extend(6000)).release();
  if ((await redlock.using(['package'], 5000, async (signal) => signal.aborted)) !== false) throw new Error('aborted');
  await (await redlock4.lock('package', 5000)).unlock();
  for (const [name, value] of Object.entries({ Redlock, ExecutionError, Lock, ResourceLockedError, LockError })) {
    if (value.name !== name) throw new Error(name + ' is called ' + value.name);
  }
  await redlock4.quit();
}
`;
const PROVE = 'proveIt(Redlock, face, Redlock4, face4, Redis, process.argv.slice(2));\n';

const IMPORT = `import { Redis } from 'ioredis';
import Redlock, * as face from 'quorate/redlock';
import Redlock4, * as face4 from 'quorate/redlock4';
if (face.Redlock !== Redlock) throw new Error('two of Redlock');
${USE}await ${PROVE}`;

const REQUIRE = `const { Redis } = require('ioredis');
const face = require('quorate/redlock');
const { default: Redlock } = face;
const Redlock4 = require('quorate/redlock4');
const face4 = Redlock4;
${USE}${PROVE}`;

/** As redlock's README has it. */
const TYPES = `
import { Cluster, Redis } from 'ioredis';
import Redlock, { ExecutionError, Lock, type RedlockAbortSignal, ResourceLockedError, type Settings } from 'quorate/redlock';

const settings: Partial<Settings> = { driftFactor: 0.01, retryCount: 10, retryDelay: 200, retryJitter: 200, automaticExtensionThreshold: 500 };
const redlock = new Redlock([new Redis(), new Cluster([{ host: 'a', port: 6379 }])], settings);
redlock.on('error', (error) => {
  if (error instanceof ResourceLockedError) return;
  throw error;
});
export async function work(): Promise<number> {
  let lock: Lock = await redlock.acquire(['a'], 5000);
  lock = await lock.extend(5000);
  const left: number = lock.expiration;
  await lock.release();
  try {
    return await redlock.using(['a', 'b'], 5000, { retryCount: 5 }, async (signal: RedlockAbortSignal) => {
      if (signal.aborted) throw signal.error;
      return left;
    });
  } catch (error) {
    if (error instanceof ExecutionError) return (await Promise.all(error.attempts)).length;
    throw error;
  }
}
`;

/** As with the types of redlock 4. */
const TYPES_4 = `
export async function work4(): Promise<number> {
  const redlock: Redlock = new Redlock([new Redis()], { retryCount: 3 });
  redlock.on('clientError', (error) => void error);
  const lock: Redlock.Lock = await redlock.lock('a', 1000);
  redlock.acquire(['a', 'b'], 1000, (error, held) => void (error ?? held?.unlock()));
  await lock.extend(1000);
  await lock.unlock().catch((error: unknown) => error instanceof Redlock.LockError);
  const options: Redlock.LockOptions = { retryCount: 0 };
  return (await redlock.lockWithOptions('a', 1000, options)).attempts;
}
`;
const IMPORT_4 = `import { Redis } from 'ioredis';\nimport Redlock from 'quorate/redlock4';\n`;
const REQUIRE_4 = `import { Redis } from 'ioredis';\nimport Redlock = require('quorate/redlock4');\n`;

/** The files of the stranger's folder, by name. */
export const FACE_PROGRAMS = {
  'faces.mjs': IMPORT,
  'faces.cjs': REQUIRE,
  'bundled/faces.mjs': IMPORT,
  'faces5.mts': TYPES,
  'faces5.cts': TYPES,
  'faces4.mts': `${IMPORT_4}${TYPES_4}`,
  'faces4.cts': `${REQUIRE_4}${TYPES_4}`,
  'bundled/faces5.ts': TYPES,
};

/** The files with types, by the way in which modules are found. */
export const FACE_TYPES = {
  nodenext: ['faces5.mts', 'faces5.cts', 'faces4.mts', 'faces4.cts'],
  bundler: ['bundled/faces5.ts'],
  node10: ['bundled/faces5.ts'],
};
