/**
 * The relative links of the packed texts. The README's lead to what is in the package, and so do those between texts. Other texts
 * may also link to the code and the charts, which only the repository has: docs/README.md says so.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { register } from 'tsx/esm/api';

register();
const { readPage } = await import('../docs/page.ts');

const FIRST = 'README.md';
const EXTERNAL = /^[a-z][a-z0-9+.-]*:/i;
const REPOSITORY_ONLY = /^(bench|examples|lib|spec|docs\/figures)(\/|$)/;

/** Walks on from the README through all texts that are packed. @returns `{ texts, links, outside, faults }` */
export function walkLinks(packed, repository) {
  const seen = new Set([FIRST]);
  const found = { texts: 0, links: 0, outside: 0, faults: [] };
  for (const page of seen) {
    found.texts++;
    for (const target of targetsOf(packed, page)) {
      found.links++;
      if (existsSync(join(packed, target))) {
        if (target.endsWith('.md')) seen.add(target);
      } else if (page !== FIRST && REPOSITORY_ONLY.test(target) && existsSync(join(repository, target))) {
        found.outside++;
      } else found.faults.push(`${page} links to ${target}, which is not in the package`);
    }
  }
  return found;
}

function targetsOf(folder, page) {
  return readPage(page, readFileSync(join(folder, page), 'utf8'))
    .links.map(({ text }) => text)
    .filter((link) => !EXTERNAL.test(link) && !link.startsWith('#'))
    .map((link) => posix.join(posix.dirname(page), decodeURI(link).split('#')[0]));
}
