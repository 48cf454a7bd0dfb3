/**
 * The arguments of `request`, converted and checked as the specification does: Web IDL first (TypeError), then the steps of
 * `request` in their order.
 */
import { isSignal } from '../input/given.js';
import { show } from '../runtime/errors.js';
import type { Lock, LockGrantedCallback, LockMode } from './public.js';

/** A request with all of its options filled in. */
export interface LockRequest {
  readonly name: string;
  readonly mode: LockMode;
  readonly ifAvailable: boolean;
  readonly signal: AbortSignal | undefined;
  readonly steal: boolean;
  readonly callback: LockGrantedCallback<unknown, Lock | null>;
}

/** With a name and a callback; options may be between them. */
const FEWEST_ARGUMENTS = 2;

/**
 * @throws TypeError: an argument that cannot be converted · DOMException `NotSupportedError`: a name that begins with a hyphen,
 *   options that exclude each other · the signal's reason, if it has aborted
 */
export function requestOf(given: readonly unknown[]): LockRequest {
  if (given.length < FEWEST_ARGUMENTS)
    throw new TypeError(`request takes a name and a callback: got ${given.length} arguments`);
  const isShort = given.length === FEWEST_ARGUMENTS;
  const name = textOf('name', given[0]);
  const { ifAvailable, mode, signal, steal } = optionsOf(isShort ? undefined : given[1]);
  const callback = isShort ? given[1] : given[2];
  if (!isCallback(callback)) throw new TypeError(`callback must be a function: got ${show(callback)}`);
  if (name.startsWith('-')) throw notSupported('a name that begins with a hyphen is reserved');
  if (steal && ifAvailable) throw notSupported('steal and ifAvailable exclude each other');
  if (steal && mode !== 'exclusive') throw notSupported('steal takes no shared lock');
  if (signal !== undefined && (steal || ifAvailable))
    throw notSupported('signal has no effect with steal or ifAvailable, which do not wait');
  if (signal?.aborted === true) throw signal.reason;
  return { name, mode, ifAvailable, signal, steal, callback };
}

interface Options {
  readonly ifAvailable: boolean;
  readonly mode: LockMode;
  readonly signal: AbortSignal | undefined;
  readonly steal: boolean;
}

/** A dictionary of Web IDL: names that it does not have are not read, and its members are read in the order of their names. */
function optionsOf(given: unknown): Options {
  const isObject = typeof given === 'object' || typeof given === 'function';
  if (given !== undefined && !isObject) throw new TypeError(`options must be an object: got ${show(given)}`);
  const options = (given ?? {}) as Record<string, unknown>; // an object
  return {
    ifAvailable: Boolean(options['ifAvailable']),
    mode: modeOf(options['mode']),
    signal: signalOf(options['signal']),
    steal: Boolean(options['steal']),
  };
}

function modeOf(given: unknown): LockMode {
  if (given === undefined) return 'exclusive';
  const mode = textOf('mode', given);
  if (mode === 'exclusive' || mode === 'shared') return mode;
  throw new TypeError(`mode must be 'exclusive' or 'shared': got ${show(mode)}`);
}

function signalOf(given: unknown): AbortSignal | undefined {
  if (given === undefined || isSignal(given)) return given;
  throw new TypeError(`signal must be an AbortSignal: got ${show(given)}`);
}

/** Anything but a symbol has a text; what a `toString` throws goes to the caller. */
function textOf(what: string, given: unknown): string {
  if (typeof given === 'symbol') throw new TypeError(`${what} must be a string: got a symbol`);
  return String(given);
}

function isCallback(given: unknown): given is LockRequest['callback'] {
  return typeof given === 'function';
}

function notSupported(text: string): DOMException {
  return new DOMException(`${text}.`, 'NotSupportedError');
}
