/** The process of an instance, as others see it. People find a holder by it; no code decides anything by it. */
import { hostname } from 'node:os';
import { VERSION } from './version.js';

/** The process that an instance is in. */
export interface ThisProcess {
  readonly host: string;
  readonly pid: number;
  /** The version of quorate. */
  readonly version: string;
  /** When the instance was made, by this machine's wall clock; ms since 1970. */
  readonly startedAtMs: number;
}

/** @param nowMs  the wall clock */
export function thisProcess(nowMs: () => number): ThisProcess {
  return { host: hostname(), pid: process.pid, version: VERSION, startedAtMs: nowMs() };
}

/** The label of an instance that was given none. */
export function defaultLabel({ host, pid }: ThisProcess): string {
  return `${host}:${pid}`;
}
