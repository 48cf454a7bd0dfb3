/** A busy machine: two processes that take all the CPU time they can get. */
import { type ChildProcess, spawn } from 'node:child_process';

const COUNT = 2;

export class Hogs implements Disposable {
  readonly #children: readonly ChildProcess[];

  constructor() {
    const hog = (): ChildProcess => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
    this.#children = Array.from({ length: COUNT }, hog);
    process.on('exit', this.#kill);
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#kill);
    this.#kill();
  }

  readonly #kill = (): void => {
    for (const child of this.#children) child.kill('SIGKILL');
  };
}
