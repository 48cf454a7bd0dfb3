/** What the bench asks of its worker processes, and what they answer. All of it is plain JSON. */
import type { Figures } from './statistics.js';
import type { HoldKind } from './contenders/contender.js';

export type Order =
  /** Opens the contender over these masters; later orders name the session. */
  | { readonly kind: 'open'; readonly session: string; readonly urls: readonly string[] }
  | { readonly kind: 'run'; readonly session: string; readonly durationMs: number }
  | { readonly kind: 'take'; readonly session: string }
  | { readonly kind: 'settle'; readonly session: string }
  | { readonly kind: 'refusal'; readonly session: string; readonly waitMs: number }
  | { readonly kind: 'kinds' }
  | { readonly kind: 'memory'; readonly session: string; readonly leases: number; readonly hold: HoldKind }
  | { readonly kind: 'close'; readonly session: string };

/** How an acquisition ended that could not succeed. */
export interface Refusal {
  readonly elapsedMs: number;
  /** The error's code; its text where it has none; undefined when it succeeded after all. */
  readonly code: string | undefined;
}

export interface Memory {
  /** Bytes of heap for one held lease, its resource's name included. */
  readonly bytesPerLease: number;
}

export interface Answers {
  readonly open: undefined;
  readonly run: undefined;
  readonly take: Figures;
  readonly settle: undefined;
  readonly refusal: Refusal;
  readonly kinds: readonly HoldKind[];
  readonly memory: Memory;
  readonly close: undefined;
}

export interface Envelope {
  readonly id: number;
  readonly order: Order;
}

export type Reply =
  { readonly id: number; readonly answer: unknown } | { readonly id: number; readonly error: string };
