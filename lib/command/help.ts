/** Help texts, from the catalogue. */
import { COMMANDS, type CommandEntry, type Flag, HELP } from './catalogue.js';
import { table } from './terminal.js';

const WIDTH = 78;

export function overview(): string {
  const rows = COMMANDS.map(({ name, summary }) => [`  ${name}`, summary]);
  return [
    'quorate: locks by quorum over independent Redis masters',
    '',
    'usage: quorate COMMAND [FLAG]... [OPERAND]...',
    '',
    table(rows),
    '',
    'Masters: QUORATE_NODES (URLs, separated by commas), --node URL for each, or --config FILE.',
    'quorate COMMAND --help explains a command; quorate --version prints the version.',
  ].join('\n');
}

export function helpFor(entry: CommandEntry): string {
  const rows = [...entry.flags, HELP].map((flag) => [`  ${usageOf(flag)}`, flag.text]);
  return [
    `usage: ${synopsisOf(entry)}`,
    ...entry.details.flatMap((paragraph) => ['', wrapped(paragraph)]),
    '',
    table(rows),
  ].join('\n');
}

export function synopsisOf({ name, operands, flags }: CommandEntry): string {
  return ['quorate', name, flags.length > 0 ? '[FLAG]...' : '', operands]
    .filter((word) => word !== '')
    .join(' ');
}

export function usageOf({ name, value }: Flag): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

function wrapped(text: string): string {
  const lines: string[] = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line.length + word.length >= WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join('\n');
}
