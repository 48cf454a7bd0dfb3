/**
 * The relative links of the packed texts. The README's lead to what is in the package, and so do those between texts, but for
 * pages for developers and charts. Other texts may also link to the code, which only the repository has.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { readPage } from '../docs/page.js';

export interface Walk {
  readonly texts: number;
  readonly links: number;
  /** How many links lead to what only the repository has. */
  readonly outside: number;
  /** A sentence for each link that leads nowhere. */
  readonly faults: readonly string[];
}

const FIRST = 'README.md';
const EXTERNAL = /^[a-z][a-z0-9+.-]*:/i;
const REPOSITORY_ONLY = /^(bench|examples|lib|spec|docs\/upstream)(\/|$)/;
/** What the repository alone has; on npm's page, the README's own links to it lead to the repository as well. */
const REPOSITORY_TEXTS =
  /^((CHANGELOG|CONTRIBUTING|SECURITY|docs\/(ARCHITECTURE|BENCHMARKS|CHAOS|DEVELOPMENT|FAIRNESS|FULL-RUN|GLOSSARY|MIGRATION|MUTATION|OTHER-LANGUAGES|README|SIMULATION|TRACK-RECORD))\.md$|docs\/figures\/)/;

/** Walks on from the README through all texts that it reaches. @param packed  the folder of the installed package */
export function walkLinks(packed: string, repository: string): Walk {
  const seen = new Set([FIRST]);
  const faults: string[] = [];
  let links = 0;
  let outside = 0;
  for (const page of seen) {
    for (const target of targetsOf(packed, page)) {
      links++;
      if (!target.startsWith('..') && existsSync(join(packed, target))) {
        if (target.endsWith('.md')) seen.add(target);
      } else if (isOutside(page, target) && existsSync(join(repository, target))) {
        outside++;
      } else faults.push(`${page} links to ${target}, which is not in the package`);
    }
  }
  return { texts: seen.size, links, outside, faults };
}

function isOutside(page: string, target: string): boolean {
  return REPOSITORY_TEXTS.test(target) || (page !== FIRST && REPOSITORY_ONLY.test(target));
}

function targetsOf(folder: string, page: string): readonly string[] {
  return readPage(page, readFileSync(join(folder, page), 'utf8'))
    .links.map(({ text }) => text)
    .filter((link) => !EXTERNAL.test(link) && !link.startsWith('#'))
    .map((link) => posix.join(posix.dirname(page), decodeURI(link).split('#')[0] ?? ''));
}
