/**
 * Runs synchronous clean-ups when the process ends, however it ends short of SIGKILL: a normal exit, an uncaught error, or
 * a signal. A caller that has a handler of its own for a signal decides what happens; then the `exit` event does the work.
 */
type CleanUp = () => void;

const pending = new Set<CleanUp>();
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
let installed = false;

/** Registers a clean-up; the result takes it back. */
export function atExit(cleanUp: CleanUp): () => void {
  pending.add(cleanUp);
  if (!installed) install();
  return () => void pending.delete(cleanUp);
}

function install(): void {
  installed = true;
  process.on('exit', runAll);
  // first in the queue: a caller's `once` handler that ran before would no longer be counted
  for (const signal of SIGNALS) process.prependListener(signal, onSignal);
}

function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return; // the caller's own handler follows
  runAll();
  process.removeListener(signal, onSignal);
  process.kill(process.pid, signal); // ends as it would have ended without us
}

function runAll(): void {
  for (const cleanUp of pending) {
    pending.delete(cleanUp);
    try {
      cleanUp();
    } catch (error) {
      process.stderr.write(`clean-up of a master failed: ${String(error)}\n`);
    }
  }
}
