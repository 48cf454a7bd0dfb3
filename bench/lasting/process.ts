/** The process under load, as the run sees it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { ClientName } from '../contenders/connection.js';
import type { FromLoad, Standing, ToLoad } from './terms.js';

const ANSWER_MS = 30_000;
const END_MS = 10_000;

export class LoadProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(file: string, client: ClientName, urls: readonly string[]): Promise<LoadProcess> {
    const child = fork(file, [client, ...urls], { execArgv: ['--expose-gc'] }); // source maps would be some MB of heap, from the first error on
    const load = new LoadProcess(child);
    await load.#answer('ready');
    return load;
  }

  work(): void {
    this.#tell('work');
  }

  async rest(): Promise<Standing> {
    this.#tell('rest');
    const answer = await this.#answer('rested');
    if (answer.kind !== 'rested') throw new Error(answer.kind); // for the compiler
    return answer.standing;
  }

  /** @returns what was wrong with its end: it has to end by itself when all is closed */
  async end(): Promise<string | undefined> {
    const exit = once(this.#child, 'exit', { signal: AbortSignal.timeout(END_MS) });
    this.#tell('end');
    try {
      const [code] = (await exit) as [number | null]; // what the event has
      return code === 0 ? undefined : `the process ended with ${code}`;
    } catch {
      return `the process had not ended ${END_MS} ms after all was closed`;
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #tell(kind: ToLoad['kind']): void {
    const message: ToLoad = { kind };
    this.#child.send(message);
  }

  async #answer(kind: FromLoad['kind']): Promise<FromLoad> {
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, AbortSignal.timeout(ANSWER_MS)]);
    const exit = once(this.#child, 'exit', { signal }).then(([code]) => {
      throw new Error(`the process under load ended (${code})`);
    });
    try {
      const [message] = (await Promise.race([once(this.#child, 'message', { signal }), exit])) as [FromLoad]; // what it tells
      if (message.kind !== kind) throw new Error(`${kind} was asked for, and ${message.kind} was told`);
      return message;
    } finally {
      exit.catch(() => undefined);
      over.abort();
    }
  }
}
