/** The other libraries: installed from bench/package.json and its lock where they are missing. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const BENCH = fileURLToPath(new URL('.', import.meta.url));

/** @returns why they cannot take part, or undefined */
export async function installPeers(limitMs: number): Promise<string | undefined> {
  if (isInstalled()) return undefined;
  try {
    const quiet = ['--ignore-scripts', '--prefer-offline', '--fetch-retries', '1', '--loglevel', 'error'];
    const limit = { timeout: limitMs, killSignal: 'SIGKILL' as const }; // npm does not end on SIGTERM
    await promisify(execFile)('npm', ['ci', '--prefix', BENCH, ...quiet], { cwd: BENCH, ...limit });
    return undefined;
  } catch (error) {
    return `npm ci --prefix bench failed: ${String(error).trim().split('\n').slice(0, 3).join(' ')}`;
  }
}

/** The lock that npm leaves in node_modules says what is there. */
function isInstalled(): boolean {
  const there = join(BENCH, 'node_modules/.package-lock.json');
  if (!existsSync(there)) return false;
  const versions = (file: string): string => {
    const { packages } = JSON.parse(readFileSync(file, 'utf8')) as {
      packages: Record<string, { version?: string }>;
    };
    const named = Object.entries(packages).filter(([name]) => name !== '');
    return JSON.stringify(named.map(([name, { version }]) => `${name}@${version}`).sort());
  };
  return versions(there) === versions(join(BENCH, 'package-lock.json'));
}
