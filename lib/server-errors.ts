/** What the errors that come instead of replies mean, and what must not be in them when callers see them. */

export function isClientTimeout(error: Error): boolean {
  return error.message === 'Command timed out'; // ioredis gives it neither a name nor a code
}

/** Answers of a server that say that it cannot take part as it is set up. */
const MISCONFIGURED =
  /\b(?:NOAUTH|WRONGPASS|NOPERM|READONLY|MISCONF|NOREPLICAS|OOM|DENIED)\b|unknown command|can't run this command|not allowed from script|ACL failure in script|quorate needs|its restart guard/;
/** Those among them that pass by themselves, or when somebody makes room. */
const PASSING = /\b(?:READONLY|MISCONF|NOREPLICAS|OOM)\b/;

export function isMisconfigured(error: Error): boolean {
  return MISCONFIGURED.test(error.message);
}

/** Will it stay so until somebody changes the set-up? Then there is no use in trying again. */
export function isPermanent(error: Error): boolean {
  return isMisconfigured(error) && !PASSING.test(error.message);
}

/** What a user can act on, in place of what speaks of a client's inside. */
const PLAIN_WORDS: readonly (readonly [RegExp, string])[] = [
  [/^Reached the max retries per request limit/, 'the connection was lost before it answered'],
  [/^Unknown RESP type|^Protocol error, got /, 'what listens there does not speak the Redis protocol'],
  [
    /permissions to access one of the keys/,
    'no rights on the keys: the resources, and quorate:* beside them',
  ],
];

/** The error as a user can read it; the client's own is its cause. */
export function inPlainWords(error: Error): Error {
  const words = PLAIN_WORDS.find(([pattern]) => pattern.test(error.message))?.[1];
  if (words === undefined) return error;
  const prefix = /^[A-Z]+(?= )/.exec(error.message)?.[0]; // a server's code stays
  return new Error(prefix === undefined ? words : `${prefix} ${words}`, { cause: error });
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** What a server says of a command that it does not know: up to 128 characters of it, cut anywhere. */
const QUOTED_COMMAND = /, with args beginning with:[^]*$/;

/** Errors of a server may quote the command, and those of ioredis carry its arguments: a token has no place there. */
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
