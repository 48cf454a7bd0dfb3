/** All scripts as one module of JavaScript. */
import { SharedNames } from './names.js';
import { Compiler } from './statements.js';
import type { Script } from '../../lib/redis/script.js';

const IMPORTS = `import * as lua from './lua.js';
import * as library from './lua-library.js';
import * as calls from './redis-calls.js';
import { redis } from './redis-calls.js';
`;

const RUN = `/** The values that a script returns. */
export function run(name, keys, args) {
KEYS = keys;
ARGV = args;
return programs[name]();
}
`;

/** @param commands  those that scripts may call @throws for a script with what is not supported */
export function moduleOf(scripts: readonly Script[], commands: Iterable<string>): string {
  const shared = new SharedNames();
  const compiler = new Compiler(shared, new Set(commands));
  const programs = new Map(scripts.map((script) => [script.name, program(compiler, script)]));
  if (programs.size < scripts.length) throw new Error('two scripts have one name');
  const patterns = [...shared.patterns].map(([expression, id]) => `const ${id} = ${expression};\n`);
  const functions = [...shared.functions].map(([id, text]) => `function ${id}${text}\n`);
  const entries = [...programs].map(([name, body]) => `${JSON.stringify(name)}() {\n${body}},\n`);
  return [
    IMPORTS,
    `let ${['KEYS', 'ARGV', ...shared.variables].join(', ')};\n`,
    ...patterns,
    ...functions,
    `const programs = {\n${entries.join('')}};\n`,
    RUN,
  ].join('');
}

function program(compiler: Compiler, { name, source }: Script): string {
  try {
    return compiler.script(source);
  } catch (error) {
    throw new Error(`the script ${name}, ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
