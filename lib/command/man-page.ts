/** The man page, from the catalogue. */
import { COMMANDS, type CommandEntry, HELP } from './catalogue.js';
import { synopsisOf, usageOf } from './help.js';

export function manPage(): string {
  return `${[
    '.TH QUORATE 1',
    '.SH NAME',
    'quorate \\- locks by quorum over independent Redis masters',
    '.SH SYNOPSIS',
    ...COMMANDS.flatMap((entry) => [`.B ${escaped(synopsisOf(entry))}`, '.br']),
    '.SH COMMANDS',
    ...COMMANDS.flatMap(section),
    '.SH ENVIRONMENT',
    ...terms([
      ['QUORATE_NODES', 'The masters as URLs, separated by commas. Not passed on to commands that are run.'],
      [
        'QUORATE_CONFIG',
        'A file with masters and options, used if neither flags nor QUORATE_NODES name masters.',
      ],
      ['QUORATE_REDIS_SERVER', 'The server that quorate up starts.'],
      ['QUORATE_RESOURCE', 'For a command that is run: the name of the lock.'],
      ['QUORATE_FENCE', 'For a command that is run: the fencing token, which rises with every grant.'],
      ['QUORATE_SCHEDULED_AT', 'For a command that cron runs: the tick, by the masters\u2019 time.'],
      ['NO_COLOR', 'Turns colours off on terminals.'],
    ]),
    '.SH FILES',
    ...terms([['~/.config/quorate.json', 'Masters and options: {"nodes": [URL, ...], "options": {...}}.']]),
    '.SH EXIT STATUS',
    ...terms([
      ['0', 'Done; a command that is run sets the exit status itself.'],
      [
        '1, 2',
        'The doctor found warnings (1) or errors (2); 1 also if unlock was declined, or migrate left something alone.',
      ],
      ['64', 'Wrong flags, names or values.'],
      ['65', 'The name holds data, or another kind of lock.'],
      ['69', 'No quorum of masters answered in time.'],
      ['70', 'The lock was lost while the command ran.'],
      ['71', 'The system refused something.'],
      ['75', 'Others hold the lock (or --conflict-exit-code).'],
      ['77', 'The masters refuse the user, or the user lacks rights.'],
      ['78', 'The settings file cannot be used.'],
      ['126, 127', 'The command cannot be executed (126), or was not found (127).'],
      ['128 + n', 'Signal n ended the command, or the wait for the lock.'],
    ]),
  ].join('\n')}\n`;
}

function section(entry: CommandEntry): readonly string[] {
  return [
    `.SS ${escaped(synopsisOf(entry))}`,
    ...entry.details.flatMap((paragraph) => [escaped(paragraph), '.PP']),
    ...terms([...entry.flags, HELP].map((flag) => [usageOf(flag), `${flag.text}.`])),
  ];
}

function terms(pairs: readonly (readonly [term: string, text: string])[]): readonly string[] {
  return pairs.flatMap(([term, text]) => ['.TP', `.B ${escaped(term)}`, escaped(text)]);
}

/** A hyphen that is one, quotes that every terminal has, and no line that begins as a request. */
function escaped(text: string): string {
  const plain = text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/[“”]/g, '"')
    .replaceAll('’', "'");
  return plain.replace(/^([.'])/, '\\&$1');
}
