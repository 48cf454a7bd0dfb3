/** Reads a command line by its entry in the catalogue. An error is one sentence, which names the fault. */
import { parseArgs } from 'node:util';
import { type CommandEntry, HELP } from './catalogue.js';
import { misuse } from './failure.js';

/** The flags and operands of one call. */
export class Arguments {
  readonly command: string;
  readonly operands: readonly string[];
  readonly #values: ReadonlyMap<string, readonly (string | true)[]>;

  constructor(
    command: string,
    operands: readonly string[],
    values: ReadonlyMap<string, readonly (string | true)[]>,
  ) {
    this.command = command;
    this.operands = operands;
    this.#values = values;
  }

  has(flag: string): boolean {
    return this.#values.has(flag);
  }

  text(flag: string): string | undefined {
    return this.all(flag).at(-1);
  }

  all(flag: string): readonly string[] {
    return (this.#values.get(flag) ?? []).filter((value) => value !== true);
  }

  /** As `500ms`, `10s`, `2m`, `1h`; in milliseconds. */
  timeMs(flag: string): number | undefined {
    const text = this.text(flag);
    return text === undefined ? undefined : this.readTime(`--${flag}`, text);
  }

  /** One of a few words. */
  choice<Word extends string>(flag: string, words: readonly Word[]): Word | undefined {
    const text = this.text(flag);
    const found = words.find((word) => word === text);
    if (text !== undefined && found === undefined)
      throw misuse(`--${flag} must be ${words.join(' or ')}, and not ${show(text)}`, this.command);
    return found;
  }

  /** Like `timeMs`, for any text. @param what  what it is, for the error */
  readTime(what: string, text: string): number {
    const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text) ?? [];
    const ms = Math.round(Number(number) * (UNITS[unit] ?? NaN));
    if (number === '' || !Number.isSafeInteger(ms))
      throw misuse(
        `${what} must be a time such as 500ms, 10s, 2m or 1h, and not ${show(text)}`,
        this.command,
      );
    return ms;
  }

  count(flag: string, least: number, most: number): number | undefined {
    const text = this.text(flag);
    return text === undefined ? undefined : this.#countOf(`--${flag}`, text, least, most);
  }

  /** The only operand. @param what  what it is, for the error */
  name(what = 'name'): string {
    const [name, extra] = this.operands;
    if (name === undefined || name === '') throw misuse(`a ${what} is missing`, this.command);
    if (extra !== undefined)
      throw misuse(`give one ${what} only: ${show(extra)} is a second one`, this.command);
    return name;
  }

  /** An operand that is a number, or none. */
  numberOperand(least: number, most: number): number | undefined {
    const [text, extra] = this.operands;
    if (extra !== undefined) throw misuse(`${show(extra)} is one operand too many`, this.command);
    return text === undefined ? undefined : this.#countOf('the number', text, least, most);
  }

  noOperands(): void {
    const [extra] = this.operands;
    if (extra !== undefined) throw misuse(`${show(extra)} is one operand too many`, this.command);
  }

  #countOf(what: string, text: string, least: number, most: number): number {
    const number = /^\d+$/.test(text) ? Number(text) : NaN;
    if (number >= least && number <= most) return number;
    throw misuse(
      `${what} must be a whole number from ${least} to ${most}, and not ${show(text)}`,
      this.command,
    );
  }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * @param hasCommand  whether a command follows behind `--`
 * @throws Failure for a flag that the command lacks, or that lacks its value or has one too many; for a command without `--`
 */
export function readArguments(
  entry: CommandEntry,
  args: readonly string[],
  hasCommand: boolean = false,
): Arguments {
  const flags = new Map([...entry.flags, HELP].map((flag) => [flag.name, flag]));
  const options = Object.fromEntries(
    [...flags.values()].map(({ name, value }) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), multiple: true },
    ]),
  );
  const { tokens } = parseArgs({
    args: args.map((arg) => (arg === '-h' ? '--help' : arg)),
    options,
    strict: false,
    tokens: true,
    allowPositionals: true,
  });
  const values = new Map<string, (string | true)[]>();
  const operands: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') operands.push(token.value);
    if (!hasCommand) refuseCommandIn(operands, entry); // before its flags are taken for ours
    if (token.kind !== 'option') continue;
    const flag = token.rawName.startsWith('--') ? flags.get(token.name) : undefined;
    if (flag === undefined) throw misuse(`${token.rawName} is no flag of this command`, entry.name);
    const { value } = token;
    if (flag.value === undefined && value !== undefined)
      throw misuse(`--${flag.name} takes no value`, entry.name);
    if (flag.value !== undefined && (value === undefined || value.startsWith('--')))
      throw misuse(`--${flag.name} needs a value: --${flag.name} ${flag.value}`, entry.name);
    const given = values.get(flag.name) ?? [];
    if (given.length > 0 && flag.isRepeated !== true && flag.value !== undefined)
      throw misuse(`--${flag.name} is given twice`, entry.name);
    values.set(flag.name, [...given, value ?? true]);
  }
  return new Arguments(entry.name, operands, values);
}

/** @throws Failure: there is one operand too many, where a command must follow `--` */
function refuseCommandIn(operands: readonly string[], entry: CommandEntry): void {
  const [own = '', command] = entry.operands.split(' -- ');
  const wanted = own.split(' ');
  const extra = operands[wanted.length];
  if (command === undefined || extra === undefined) return;
  // an expression that lacks its quotes is several operands itself
  if (wanted.some((word, i) => word.startsWith("'") && !/\s/.test(operands[i] ?? ''))) return;
  throw misuse(`put -- before ${show(extra)}: quorate ${entry.name} ${entry.operands}`, entry.name);
}

function show(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
