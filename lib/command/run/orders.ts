/**
 * The messages between the holder of a lock and its watchdog, over the channel that Node makes between a process and its
 * child.
 *
 * The watchdog is the parent of the command. So no other process can get the command's process id while it matters. The end
 * of the channel shows the watchdog that the holder died.
 */

/** The first argument by which the program is a watchdog. */
export const WATCHDOG = '__watchdog';

/** When the command has to end, by `machineNowMs`. */
export interface Bounds {
  /** TERM at this instant. */
  readonly termAtMs: number;
  /** KILL at this instant. */
  readonly killAtMs: number;
}

/** From the holder of the lock. */
export type Order =
  | {
      readonly kind: 'start';
      readonly command: readonly string[];
      readonly bounds: Bounds;
      readonly killAfterMs: number;
    }
  | { readonly kind: 'bounds'; readonly bounds: Bounds }
  | { readonly kind: 'signal'; readonly signal: NodeJS.Signals };

/** From the watchdog. */
export type Report =
  /** It runs, in a process group of that number. */
  | { readonly kind: 'started'; readonly group: number }
  /** It could not be run. */
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /** It ended; `isCut` if the watchdog ended it. */
  | {
      readonly kind: 'ended';
      readonly exitCode: number | null;
      readonly signal: NodeJS.Signals | null;
      readonly isCut: boolean;
    };
