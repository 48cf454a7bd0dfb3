/** A piece of source text that patches name. */
export interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A function, method or constant: all that has its name in one file, such as a getter and its setter. */
export interface Place {
  readonly name: string;
  /** From the root of the repository. */
  readonly path: string;
  /** The tokens of each piece of it. */
  readonly pieces: readonly (readonly Token[])[];
}

const CLOSERS = new Set([')', ']', '}']);

/** @returns where each occurrence of these tokens begins and ends in the text */
export function occurrences(place: Place, wanted: readonly Token[]): { start: number; end: number }[] {
  return place.pieces.flatMap((piece) =>
    piece.flatMap(({ start }, i) => {
      const end = matchedFrom(piece, i, wanted);
      return end === undefined ? [] : [{ start, end }];
    }),
  );
}

/** @returns where the text ends that begins at a token and is the wanted one; trailing commas do not matter */
function matchedFrom(piece: readonly Token[], from: number, wanted: readonly Token[]): number | undefined {
  let at = from;
  let end: number | undefined;
  for (const [i, { text }] of wanted.entries()) {
    if (piece[at]?.text !== text) {
      if (isTrailingComma(wanted, i)) continue;
      if (at > from && isTrailingComma(piece, at)) at++;
    }
    const token = piece[at++];
    if (token?.text !== text) return undefined;
    end = token.end;
  }
  return end;
}

function isTrailingComma(tokens: readonly Token[], i: number): boolean {
  return tokens[i]?.text === ',' && CLOSERS.has(tokens[i + 1]?.text ?? '');
}
