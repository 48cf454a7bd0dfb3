/** The meaning of errors that come instead of replies, and the removal of secrets from them. */
import type { Transport } from './transport.js';

type Dialled = Pick<Transport, 'state' | 'lossReason'>;

export function isClientTimeout(error: Error): boolean {
  return error.message === 'Command timed out'; // ioredis gives this error neither a name nor a code
}

/** No answer within the time that the caller allowed. */
export class Silence extends Error {
  readonly withinMs: number;

  /** @param reason  why a connection that is still opening is not there yet, if known */
  constructor(
    withinMs: number,
    what: 'no reply' | 'not connected' | 'not sent' = 'no reply',
    reason?: Error,
  ) {
    const why = reason === undefined ? '' : `: ${inPlainWords(reason).message}`;
    super(`${what} within ${Math.round(withinMs)} ms${why}`);
    this.withinMs = withinMs;
  }
}

/** The error for a server without a connection, with the client's reason if it gave one. */
export function notConnected(reason: Error | undefined): Error {
  const text = reason === undefined ? 'not connected' : `not connected: ${inPlainWords(reason).message}`;
  return new Error(text, { cause: reason });
}

/** The cause for a missing answer: not the server's silence if its connection is still opening. */
export function unsentFor(silence: Error, { state, lossReason }: Dialled): Error {
  if (state !== 'opening' || !(silence instanceof Silence)) return silence;
  return new Silence(silence.withinMs, 'not connected', lossReason);
}

/** The cause for answers that had not arrived when the caller stopped waiting. */
export const NOT_AWAITED = Object.freeze(new Error('the caller stopped waiting'));

/** The cause for missing answers of masters that no request was sent to: as far as is known, these masters are well. */
export const NOT_ASKED = Object.freeze(new Error('not asked'));

/** Errors by which a server says that its set-up does not let it take part. */
const MISCONFIGURED =
  /\b(?:NOAUTH|WRONGPASS|NOPERM|READONLY|MISCONF|NOREPLICAS|OOM|DENIED)\b|unknown command|can't run this command|not allowed from script|ACL failure in script|quorate needs|its restart guard/;
/** Errors of these that pass by themselves, or once somebody makes room. */
const PASSING = /\b(?:READONLY|MISCONF|NOREPLICAS|OOM)\b/;

/** A server's own errors begin with a code; those of clients are sentences. */
export function isServerError({ message }: Error): boolean {
  return /^[A-Z]{2,} /.test(message);
}

/** The server does not know the script's digest: it has run nothing. */
export function isUnknownScript(error: Error): boolean {
  return error.message.startsWith('NOSCRIPT');
}

export function isMisconfigured(error: Error): boolean {
  return MISCONFIGURED.test(error.message);
}

/** Whether the error lasts until somebody changes the set-up: then another try is useless. */
export function isPermanent(error: Error): boolean {
  return isMisconfigured(error) && !PASSING.test(error.message);
}

/** The keys that a quorum lock needs rights on. */
const KEYS = 'the resources, and quorate:* beside them';

type Words = string | ((found: string, keys: string) => string);

/**
 * Texts that a user can act on, in place of those about a client's or a server's internals. The first match counts.
 * Servers word refusals differently in scripts, and before 7.2 (6.2 and 7.0 do not name the command there).
 */
const PLAIN_WORDS: readonly (readonly [RegExp, Words])[] = [
  [/^Reached the max retries per request limit/, 'the connection was lost before it answered'],
  // the first byte of a TLS alert, in the words of ioredis 6 and 5
  [/^Unknown RESP type 21 |^Protocol error, got "\\u0015"/, 'the server there speaks TLS (rediss://)'],
  [
    /wrong version number|packet length too long|WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/,
    'the server there does not speak TLS (redis://)',
  ],
  [/^Unknown RESP type|^Protocol error, got /, 'the server there does not speak the Redis protocol'],
  [
    /permissions to access (?:one of the keys|a key)|can't access at least one of the keys/,
    (_found, keys) => `NOPERM no rights on the keys: ${keys}`,
  ],
  [
    /permissions to access (?:one of the channels|a channel)|can't publish to the channel/,
    'NOPERM no rights on the channels: quorate:push:*',
  ],
  [
    /quorate needs SELECT in scripts, for database (\d+) .*(?:ACL failure in script|executing the script can't run)/,
    (database) => `NOPERM no right to run SELECT, which database ${database} needs (+select)`,
  ],
  [/quorate needs (\w+) in scripts: .*(?:ACL failure in script|executing the script can't run)/, noRight],
  [/ACL failure in script: .* to run the '([^']+)'/, noRight],
  [/executing the script can't run()/, noRight],
];

function noRight(command: string): string {
  const named = command === '' ? 'a command' : command.toUpperCase();
  return `NOPERM no right to run ${named}, which the scripts need`;
}

/** The error in words for users; the client's own error is its cause. @param keys  the keys that need rights */
export function inPlainWords(error: Error, keys = KEYS): Error {
  for (const [pattern, words] of PLAIN_WORDS) {
    const match = pattern.exec(error.message);
    if (match !== null) {
      const text = typeof words === 'string' ? words : words(match[1] ?? '', keys);
      return new Error(text, { cause: error });
    }
  }
  return error;
}

/** The server closed a connection without TLS before it had answered anything. */
export function hungUp(cause: Error | undefined): Error {
  return new Error('the server hung up before any answer, as a TLS port does (rediss://)', { cause });
}

/** What a port without TLS does. */
export const NO_HANDSHAKE = 'no answer to the TLS handshake, as from a port without TLS (redis://)';

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** A server quotes a command that it does not know: up to 128 characters of it, cut anywhere. */
const QUOTED_COMMAND = /, with args beginning with:[^]*$/;

/** Removes tokens from an error: servers may quote the command, and errors of ioredis carry its arguments. */
export function redact(error: Error, tokens: readonly string[]): Error {
  const details = error as { command?: { args?: unknown } };
  if (details.command !== undefined) details.command = { ...details.command, args: [] };
  const before = error.message;
  for (const token of tokens) {
    if (token === '' || !(error.message.includes(token) || QUOTED_COMMAND.test(error.message))) continue;
    error.message = error.message.replace(QUOTED_COMMAND, '').replaceAll(token, '[token]');
  }
  if (error.message !== before) error.stack = error.stack?.replace(before, error.message) ?? '';
  return error;
}
