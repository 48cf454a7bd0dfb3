/** What the user has to see: places that are left alone, and places whose meaning changed. */
import type { Node } from '@babel/types';
import { startOf } from './tree.js';

/**
 * `hold`: quorate's own API has no counterpart, so the whole file keeps the API that it has · `left`: this place alone is left,
 * and does not work before somebody edits it · `look`: rewritten or passed on, and worth a look.
 */
type Weight = 'hold' | 'left' | 'look';

export interface Finding {
  readonly weight: Weight;
  /** Its offset in the text. */
  readonly at: number;
  readonly text: string;
}

export class Findings {
  readonly #found: Finding[] = [];

  hold(node: Node, text: string): void {
    this.#add('hold', startOf(node), text);
  }

  left(node: Node, text: string): void {
    this.#add('left', startOf(node), text);
  }

  /** At a place without a node, as in a comment. */
  leftAt(at: number, text: string): void {
    this.#add('left', at, text);
  }

  look(node: Node, text: string): void {
    this.#add('look', startOf(node), text);
  }

  /** In the order of the text. */
  all(): readonly Finding[] {
    return this.#found.toSorted((a, b) => a.at - b.at);
  }

  #add(weight: Weight, at: number, text: string): void {
    if (!this.#found.some((one) => one.at === at && one.text === text))
      this.#found.push({ weight, at, text });
  }
}
