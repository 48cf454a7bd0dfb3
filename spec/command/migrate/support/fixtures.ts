/**
 * Code of users in `fixtures`, a folder each: `before`, `after` (imports alone) and `api` (`--api`), and in `findings.txt` what
 * `--api` finds. Which release of redlock it has is in its package.json.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Finding } from '../../../../lib/command/migrate/findings.js';
import { releaseAt } from '../../../../lib/command/migrate/installed.js';
import { type Migration, migrationOf } from '../../../../lib/command/migrate/migration.js';
import { type Parse, treeOf } from '../../../../lib/command/migrate/parser.js';
import type { Release } from '../../../../lib/command/migrate/specifiers.js';

export const FOLDER = fileURLToPath(new URL('../fixtures/', import.meta.url));

/** The forms of a fixture. */
export type Form = 'before' | 'after' | 'api';

export interface Fixture {
  readonly name: string;
  pathOf(form: Form): string;
  textOf(form: Form): string;
  /** A line each: how it weighs, line:column, the text. */
  readonly findings: readonly string[];
}

export const FIXTURES: readonly Fixture[] = readdirSync(FOLDER).flatMap((name) => {
  const before = readdirSync(join(FOLDER, name)).find((file) => file.startsWith('before.'));
  if (before === undefined) return [];
  const pathOf = (form: Form): string => join(FOLDER, name, form + extname(before));
  const findings = readFileSync(join(FOLDER, name, 'findings.txt'), 'utf8')
    .split('\n')
    .slice(0, -1);
  return [{ name, pathOf, textOf: (form) => readFileSync(pathOf(form), 'utf8'), findings }];
});

/** How a text is migrated. */
export interface Terms {
  readonly parse: Parse;
  readonly isApi?: boolean;
  /** Where the text is, which decides what it is written in. @default code.ts */
  readonly path?: string;
  /** The release of redlock; that of the path by default. */
  readonly release?: Release;
}

/** @throws Error the text is no code */
export function migrated(
  source: string,
  { parse, isApi = false, path = 'code.ts', release }: Terms,
): Migration {
  const tree = treeOf(parse, path, source);
  if (typeof tree === 'string') throw new Error(tree);
  return migrationOf(path, tree, {
    isApi,
    releaseAt: (file) => {
      const found = release ?? releaseAt(file);
      if (found === undefined) throw new Error(`no release for ${file}`);
      return found;
    },
  });
}

export function shown({ before }: Migration, { weight, at, text }: Finding): string {
  const lines = before.slice(0, at).split('\n');
  return `${weight} ${lines.length}:${(lines.at(-1)?.length ?? 0) + 1} ${text}`;
}
