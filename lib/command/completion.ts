/** Completions for shells, from the catalogue. */
import { COMMANDS, type Flag, HELP } from './catalogue.js';

export type Shell = 'bash' | 'zsh' | 'fish';

const NAMES = COMMANDS.map(({ name }) => name);

export function completionFor(shell: Shell): string {
  switch (shell) {
    case 'bash':
      return bash();
    case 'zsh':
      return zsh();
    case 'fish':
      return fish();
  }
}

function flagNames(flags: readonly Flag[]): string {
  return [...flags, HELP].map(({ name }) => `--${name}`).join(' ');
}

/** Behind `--`, the command that is run completes as it does alone. */
function bash(): string {
  const cases = COMMANDS.map(({ name, flags }) => `    ${name}) words="${flagNames(flags)}" ;;`);
  return `# bash completion for quorate
_quorate() {
  local current=\${COMP_WORDS[COMP_CWORD]} i words
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ \${COMP_WORDS[i]} == -- ]]; then
      if declare -F _command_offset >/dev/null; then
        _command_offset $((i + 1))
      else
        COMPREPLY=($(compgen -c -f -- "$current"))
      fi
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "${NAMES.join(' ')} --help --version" -- "$current"))
    return
  fi
  case \${COMP_WORDS[COMP_CWORD - 1]} in
    --config | --server) COMPREPLY=($(compgen -f -- "$current")); return ;;
    --dir) COMPREPLY=($(compgen -d -- "$current")); return ;;
  esac
  case \${COMP_WORDS[1]} in
${cases.join('\n')}
    *) words="" ;;
  esac
  if [[ \${COMP_WORDS[1]} == completion ]]; then words="bash zsh fish $words"; fi
  if [[ \${COMP_WORDS[1]} == migrate && $current != -* ]]; then COMPREPLY=($(compgen -f -- "$current")); return; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _quorate quorate
`;
}

/** What zsh completes behind the flags of a command. */
const OPERANDS: Readonly<Record<string, string>> = {
  run: '*::command:_normal',
  elect: '*::command:_normal',
  cron: '*::command:_normal',
  migrate: '*:path:_files',
};

function zsh(): string {
  const quoted = (text: string): string => text.replaceAll("'", "'\\''").replace(/[[\]:]/g, '\\$&');
  const cases = COMMANDS.map(({ name, flags }) => {
    const specs = [...flags, HELP].map(({ name: flag, value, text, isRepeated }) => {
      const file = ['config', 'server', 'dir'].includes(flag) ? '_files' : '';
      const argument = value === undefined ? '' : `:${value}:${file}`;
      return `        '${isRepeated === true ? '*' : ''}--${flag}[${quoted(text)}]${argument}'`;
    });
    const operands = OPERANDS[name];
    const rest = operands === undefined ? [] : [`        '${operands}'`];
    return `      ${name})\n        _arguments \\\n${[...specs, ...rest].join(' \\\n')} ;;`;
  });
  const summaries = COMMANDS.map(({ name, summary }) => `    '${name}:${quoted(summary)}'`);
  return `#compdef quorate
_quorate() {
  local -a commands
  commands=(
${summaries.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local name=$words[2]
  shift words
  (( CURRENT-- ))
  case $name in
${cases.join('\n')}
  esac
}
_quorate "$@"
`;
}

function fish(): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "\\'")}'`;
  const lines = COMMANDS.flatMap(({ name, summary, flags }) => [
    `complete -c quorate -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
    ...[...flags, HELP].map(({ name: flag, value, text }) => {
      const takes = value === undefined ? '' : ' -r';
      return `complete -c quorate -n '__fish_seen_subcommand_from ${name}' -l ${flag}${takes} -d ${quoted(text)}`;
    }),
  ]);
  return `# fish completion for quorate
${lines.join('\n')}
complete -c quorate -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'
complete -c quorate -n 'contains -- -- (commandline -opc)' -a '(__fish_complete_subcommand)'
`;
}
