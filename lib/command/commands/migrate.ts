/** `quorate migrate`: moves code from redlock to quorate. Nothing is written before all files were read and rewritten. */
import { dirname, resolve } from 'node:path';
import type { Arguments } from '../arguments.js';
import { EXIT, misuse } from '../failure.js';
import { diffOf } from '../migrate/diff.js';
import { releaseAt } from '../migrate/installed.js';
import { concerns, type Migration, migrationOf, type Wish } from '../migrate/migration.js';
import { loadParser, type Parse, treeOf } from '../migrate/parser.js';
import { isChanged, isIncomplete, reportOf, type Run, type Unread } from '../migrate/report.js';
import { filesBelow, MOST_BYTES, readSource, replaceFile } from '../migrate/sources.js';
import type { Release } from '../migrate/specifiers.js';
import { print } from '../terminal.js';

const RELEASES: Readonly<Record<string, Release>> = { 4: 4, 5: 5 };

export async function migrate(args: Arguments): Promise<number> {
  const paths = args.operands;
  if (paths.length === 0) throw misuse('a file or folder is missing', args.command);
  const run = await runOver(paths, wishOf(args), args.has('dry-run'));
  for (const migration of run.migrations.filter(isChanged)) {
    if (run.isDry) print(diffOf(migration));
    else {
      replaceFile(migration.path, migration.before, migration.after);
      print(`changed ${migration.path}`);
    }
  }
  process.stderr.write(`${reportOf(run)}\n`);
  return isIncomplete(run) ? EXIT.no : EXIT.done;
}

function wishOf(args: Arguments): Wish {
  const from = RELEASES[args.choice('from', ['4', '5']) ?? ''];
  return {
    isApi: args.has('api'),
    releaseAt: (path) => {
      const release = from ?? releaseAt(path);
      if (release !== undefined) return release;
      const why = `neither node_modules nor a package.json above ${path} has a version of redlock`;
      throw misuse(`${why}: give --from 4 or --from 5`, args.command);
    },
  };
}

/** @throws Failure a path is missing, there is no parser, or a version is not known */
async function runOver(paths: readonly string[], wish: Wish, isDry: boolean): Promise<Run> {
  const { files, tooLarge } = filesBelow(paths);
  const unread: Unread[] = tooLarge.map((path) => ({
    path,
    why: `larger than ${MOST_BYTES / 1_000_000} MB`,
  }));
  const migrations: Migration[] = [];
  let parse: Parse | undefined;
  for (const path of files) {
    const source = readSource(path);
    if (source === undefined) unread.push({ path, why: 'it is not in UTF-8' });
    if (source === undefined || !concerns(source, wish)) continue;
    parse ??= await loadParser([...paths.map((one) => dirname(resolve(one, 'any'))), resolve('.')]);
    const tree = treeOf(parse, path, source);
    if (typeof tree === 'string') unread.push({ path, why: `it could not be parsed: ${tree}` });
    else migrations.push(migrationOf(path, tree, wish));
  }
  return { migrations, unread, isDry };
}
