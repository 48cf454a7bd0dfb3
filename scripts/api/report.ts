/** The report of one entry: every declaration that its users reach, without its comments. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import ts from 'typescript5';
import { type Declared, type Entry, ROOT } from './declarations.js';

const PRINTER = ts.createPrinter({ removeComments: true });

export async function reportOf({ name, declared }: Entry): Promise<string> {
  const parts = declared.map((one) => {
    const remark = one.isExported ? '' : `// not exported by name\n`;
    return `${remark}${one.nodes.map(print).join('\n')}`;
  });
  const text = [
    `# The public surface of ${name}`,
    'Written by `npm run check -- --write`, and compared by `npm run check -- lint`: a change here is a change of what users have.',
    `\`\`\`ts\n${parts.join('\n\n')}\n\`\`\``,
  ].join('\n\n');
  const settings = JSON.parse(readFileSync(join(ROOT, '.prettierrc.json'), 'utf8')) as object;
  return format(`${text}\n`, { ...settings, parser: 'markdown' });
}

function print(node: Declared['nodes'][number]): string {
  const whole = ts.isVariableDeclaration(node) ? node.parent.parent : node;
  return PRINTER.printNode(ts.EmitHint.Unspecified, whole, node.getSourceFile());
}
