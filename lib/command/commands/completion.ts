/** `quorate completion`: prints what a shell needs. */
import type { Arguments } from '../arguments.js';
import { completionFor } from '../completion.js';
import { EXIT, misuse } from '../failure.js';

export function completion(args: Arguments): number {
  const shell = args.name('shell');
  if (shell !== 'bash' && shell !== 'zsh' && shell !== 'fish')
    throw misuse('the shell must be bash, zsh or fish', args.command);
  process.stdout.write(completionFor(shell));
  return EXIT.done;
}
