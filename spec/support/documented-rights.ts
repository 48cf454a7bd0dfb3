/** The smallest sets of rights, as the docs have them: each in the block behind `<!-- rights: NAME -->`. */
import { readFileSync } from 'node:fs';

const DOCS = ['OPERATION', 'DASHBOARD']
  .map((name) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8'))
  .join('\n');

/** The user whom the docs give them to. */
export const USER = 'locker';

/** All that have a block there. */
export const DOCUMENTED = [...DOCS.matchAll(/<!-- rights: ([\w ]+) -->/g)].map(([, name = '']) => name);

/** What a set says behind the user's name, one by one. */
export function rightsOf(set: string): readonly string[] {
  const block = new RegExp(`<!-- rights: ${set} -->\\s+\`\`\`sh\\n([^\`]*)\`\`\``).exec(DOCS)?.[1] ?? '';
  const words = block.replaceAll('\\\n', ' ').trim().split(/\s+/);
  const command = words.splice(0, 4).join(' ');
  if (command !== `redis-cli ACL SETUSER ${USER}`) throw new Error(`no rights of ${set}: ${command}`);
  return words.map((word) => word.replace(/^'(.*)'$/, '$1'));
}
