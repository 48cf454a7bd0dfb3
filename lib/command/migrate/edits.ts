/** Changes to a text by positions: what no edit touches stays as it is, down to the white space. */

/** A part of a text, and what takes its place. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export class Edits {
  readonly #edits: Edit[] = [];

  replace(start: number, end: number, text: string): void {
    this.#edits.push({ start, end, text });
  }

  insert(at: number, text: string): void {
    this.replace(at, at, text);
  }

  /** Whether the place is within a part that is replaced. */
  covers(at: number): boolean {
    return this.#edits.some(({ start, end }) => start <= at && at < end);
  }

  /**
   * By position. An edit within a larger one is left out: the larger one has written its part anew.
   *
   * @throws Error two edits overlap in part, which is a mistake in this program
   */
  sorted(): readonly Edit[] {
    const sorted = this.#edits
      .map((edit, i) => ({ edit, i }))
      .sort((a, b) => a.edit.start - b.edit.start || order(a.edit) - order(b.edit) || a.i - b.i);
    const kept: Edit[] = [];
    let end = 0;
    for (const { edit } of sorted) {
      if (edit.start < end && edit.end > end)
        throw new Error(`edits overlap at ${edit.start}: ${JSON.stringify(edit.text)}`);
      if (edit.start < end) continue;
      kept.push(edit);
      end = edit.end;
    }
    return kept;
  }
}

/** At one position, what is inserted comes before what is replaced, and a larger part before a smaller one. */
function order({ start, end }: Edit): number {
  return start === end ? -Infinity : -end;
}

/** @param edits  sorted */
export function applied(source: string, edits: readonly Edit[], from = 0, to = source.length): string {
  let at = from;
  let text = '';
  for (const { start, end, text: replacement } of edits) {
    text += source.slice(at, start) + replacement;
    at = end;
  }
  return text + source.slice(at, to);
}

/** Where a place of the old text is in the new one; the beginning of a part that was replaced, if it was within. */
export function placeAfter(offset: number, edits: readonly Edit[]): number {
  let shift = 0;
  for (const { start, end, text } of edits) {
    if (offset < end) return Math.min(offset, start) + shift;
    shift += text.length - (end - start);
  }
  return offset + shift;
}
