/** What Valkey GLIDE says, in the words of servers and of the other clients. */

/** GLIDE replaces the codes of some errors. */
const CODES: Readonly<Record<string, string>> = {
  ResponseError: 'ERR',
  NoScriptError: 'NOSCRIPT',
  PermissionDenied: 'NOPERM',
  ReadOnly: 'READONLY',
  BusyLoadingError: 'LOADING',
  MasterDown: 'MASTERDOWN',
  ClusterDown: 'CLUSTERDOWN',
  CrossSlot: 'CROSSSLOT',
  TryAgain: 'TRYAGAIN',
  Moved: 'MOVED',
  Ask: 'ASK',
};

/** `An error was signalled by the server: - ResponseError: …`, or `WRONGTYPE: …` */
const REPLACED = /^An error was signalled by the server: - (\w+): (.*)$/s;
const KEPT = /^([A-Z]{2,}): (.*)$/s;

/** Its own time limit: the command may still run. */
export function isTimeLimit({ name }: Error): boolean {
  return name === 'TimeoutError';
}

/** Without GLIDE's own error as the cause: a server may quote a token, which is removed from the text alone. */
export function inServersWords(error: Error): Error {
  const [, replaced = '', details = ''] = REPLACED.exec(error.message) ?? [];
  const code = CODES[replaced];
  if (code !== undefined) return new Error(`${code} ${details}`);
  const kept = KEPT.exec(error.message);
  return kept === null ? error : new Error(`${kept[1]} ${kept[2]}`);
}
