/**
 * Publishes the package, or says why it is not ready. `npm publish` asks here first (prepublishOnly), so it is refused likewise.
 *
 *   npm run release                    publishes
 *   npm run release -- --dry-run       shows what would be published
 *   npm run release -- --tarball       checks the package, and leaves its tarball here: to install it without a registry
 *   node scripts/release.mjs --check   only looks whether it may be
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const FLAGS = ['--check', '--dry-run', '--tarball'];
/** .ci/run writes it at its end: the commit that passed. */
const CHECKED = 'output/checked-commit';

/** What users look for, and what each field is for. */
const ADDRESSES = {
  repository: 'where its source is',
  homepage: 'where to read about it',
  bugs: 'where to report a fault',
};

function read(file) {
  try {
    return readFileSync(join(ROOT, file), 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
}

/** @returns undefined outside a Git checkout */
function git(...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

function reasonsAgainst({ version, ...manifest }) {
  const head = git('rev-parse', 'HEAD');
  return [
    ...Object.entries(ADDRESSES)
      .filter(([field]) => !isSet(manifest[field]))
      .map(([field, purpose]) => `package.json has no "${field}": users cannot tell ${purpose}`),
    ...(hasEntry(read('CHANGELOG.md'), version)
      ? []
      : [`CHANGELOG.md has no entry for ${version}: it needs a heading "## ${version}"`]),
    ...(head === undefined ? ['this is not a Git checkout with a commit'] : treeReasons(head)),
  ];
}

function treeReasons(head) {
  const reasons = [];
  if (git('status', '--porcelain') !== '')
    reasons.push('there are changes that are not committed (git status)');
  const checked = read(CHECKED).trim();
  if (checked === '') reasons.push("CI's checks were not run: npm run ci");
  else if (checked !== head)
    reasons.push(
      `CI's checks passed for commit ${checked.slice(0, 10)}, and this is ${head.slice(0, 10)}: npm run ci`,
    );
  return reasons;
}

/** A text, or an object with a url (`bugs` may have an email instead). */
function isSet(field) {
  if (typeof field === 'string') return field.trim() !== '';
  return [field?.url, field?.email].some((address) => typeof address === 'string' && address.trim() !== '');
}

function hasEntry(changelog, version) {
  return changelog.split('\n').some((line) => {
    const [mark, name = ''] = line.split(/\s+/);
    return mark === '##' && name.replace(/^\[(.*)\]$/, '$1') === version;
  });
}

function npm(...args) {
  const { status } = spawnSync('npm', args, { cwd: ROOT, stdio: 'inherit' });
  return status === 0 ? 0 : 1;
}

function main(flags) {
  const unknown = flags.filter((flag) => !FLAGS.includes(flag));
  if (unknown.length > 0) {
    process.stderr.write(`release: unknown: ${unknown.join(' ')}; known: ${FLAGS.join(' ')}\n`);
    return 1;
  }
  if (flags.includes('--tarball')) return npm('run', 'check', '--', 'package') || npm('pack');
  const manifest = JSON.parse(read('package.json'));
  const name = `${manifest.name} ${manifest.version}`;
  const reasons = reasonsAgainst(manifest);
  if (reasons.length > 0) {
    process.stderr.write(
      `release: ${name} is not published:\n${reasons.map((reason) => `  - ${reason}\n`).join('')}`,
    );
    return 1;
  }
  process.stdout.write(`release: ${name} is ready\n`);
  if (flags.includes('--check')) return 0;
  return flags.includes('--dry-run') ? npm('pack', '--dry-run') : npm('publish');
}

process.exitCode = main(process.argv.slice(2));
