/** The options of elections, resolved once. */
import { invalidArgument } from '../runtime/errors.js';
import { checkNames } from '../input/option-names.js';
import { checkSignal, NO_OPTIONS, or, resolveCall } from '../input/options.js';
import type { CallTerms, InstanceTerms } from '../protocol/terms.js';
import { graceOf } from '../input/steal-options.js';
import type {
  CampaignOptions,
  DeposeOptions,
  ElectionOptions,
  LeadOptions,
  ObserveOptions,
} from './public.js';

/** The longest value, in bytes of UTF-8: masters push and store it, and each reader is sent it by all masters. */
const MOST_VALUE_BYTES = 4_096;

/**
 * A leader's lease is fenced and renewed, and candidates wait in the queue, whatever the instance's locks do. A leader that
 * steps down makes room for other processes first: there are no local turns.
 */
export function resolveElection(given: ElectionOptions, instance: InstanceTerms): InstanceTerms {
  const call = resolveCall(given, ['ttlMs'], instance);
  const own = { fencing: true, fair: true, renew: true, waitMs: Infinity, localTurns: 0 };
  return Object.freeze({ ...instance, ...call, ...own });
}

export function resolveCampaign(given: CampaignOptions, terms: InstanceTerms): CallTerms {
  return resolveCall(given, ['signal', 'waitMs'], terms);
}

/** The options of `lead`, filled in. */
export interface ResolvedLead {
  readonly value: string;
  readonly signal: AbortSignal | undefined;
}

export function resolveLead(given: LeadOptions): ResolvedLead {
  checkNames('options', given, ['value', 'signal']);
  const { signal } = given;
  checkSignal(signal);
  const value = checkValue(or(given.value, ''));
  return { value, signal };
}

/** @returns the grace, in ms */
export function resolveDepose(given: DeposeOptions): number {
  checkNames('options', given, ['graceMs', 'signal']);
  checkSignal(given.signal);
  return graceOf(given);
}

export function resolveObserve(given: ObserveOptions = NO_OPTIONS): AbortSignal | undefined {
  checkNames('options', given, ['signal']);
  checkSignal(given.signal);
  return given.signal;
}

export function checkValue(value: unknown): string {
  const wanted = `well-formed Unicode of at most ${MOST_VALUE_BYTES} bytes`;
  if (typeof value !== 'string' || !value.isWellFormed()) throw invalidArgument('value', value, wanted);
  if (Buffer.byteLength(value) > MOST_VALUE_BYTES) throw invalidArgument('value', value, wanted);
  return value;
}
