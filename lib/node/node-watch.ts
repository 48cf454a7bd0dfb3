/**
 * Reports when a master no longer takes part, because it has no connection or does not answer, and when it takes part again.
 * Listens to the client only while somebody wants to know.
 */
import type { Clock } from '../runtime/clock.js';
import type { NodeObserver } from '../telemetry/observer.js';
import type { Node } from './node.js';

const SILENT = Object.freeze(new Error('it is connected, and attempts gave up waiting for its answers'));

class NodeWatch {
  readonly #node: Node;
  readonly #clock: Clock;
  readonly #observer: NodeObserver;
  /** Undefined until it is known: a client may still be on its way to its first connection. */
  #isUp: boolean | undefined;
  #downSinceMs = 0;
  #unwatch: (() => void) | undefined;

  constructor(node: Node, clock: Clock, observer: NodeObserver) {
    this.#node = node;
    this.#clock = clock;
    this.#observer = observer;
  }

  begin(): void {
    if (this.#unwatch !== undefined) return;
    this.#isUp = this.#takesPart ? true : undefined;
    this.#downSinceMs = this.#clock.earliest();
    this.#node.window.onSilence = this.#check;
    this.#unwatch = this.#node.watch(this.#check);
  }

  end(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#node.window.onSilence = undefined;
  }

  get #takesPart(): boolean {
    return this.#node.isReady && !this.#node.window.isSilent;
  }

  readonly #check = (): void => {
    const isUp = this.#takesPart;
    if (isUp === this.#isUp) return;
    this.#isUp = isUp;
    const { name } = this.#node;
    const nowMs = this.#clock.earliest();
    if (isUp) return this.#observer.up(name, Math.round(nowMs - this.#downSinceMs));
    this.#downSinceMs = nowMs;
    if (this.#node.isReady) this.#observer.down(name, 'silent', SILENT);
    else this.#observer.down(name, 'disconnected', this.#node.lostError());
  };
}

/** Knows whether anybody wants to know. */
interface Audience {
  onChange: (() => void) | undefined;
  has(name: 'nodeDown' | 'nodeUp' | 'quarantined'): boolean;
}

/** The watches of an instance: on while somebody listens. */
export class NodeWatches {
  readonly #nodes: readonly Node[];
  readonly #watches: readonly NodeWatch[];
  readonly #audience: Audience;
  readonly #observer: NodeObserver;

  constructor(nodes: readonly Node[], clock: Clock, audience: Audience, observer: NodeObserver) {
    this.#nodes = nodes;
    this.#watches = nodes.map((node) => new NodeWatch(node, clock, observer));
    this.#audience = audience;
    this.#observer = observer;
    audience.onChange = () => this.#adapt();
  }

  close(): void {
    this.#audience.onChange = undefined;
    this.#set(false, false);
  }

  #adapt(): void {
    const audience = this.#audience;
    this.#set(audience.has('nodeDown') || audience.has('nodeUp'), audience.has('quarantined'));
  }

  #set(watches: boolean, hearsQuarantines: boolean): void {
    for (const watch of this.#watches) {
      if (watches) watch.begin();
      else watch.end();
    }
    for (const { name, quarantine } of this.#nodes) {
      const tell = (remainingMs: number): void => this.#observer.quarantined(name, remainingMs);
      quarantine.onBegin = hearsQuarantines ? tell : undefined;
    }
  }
}
