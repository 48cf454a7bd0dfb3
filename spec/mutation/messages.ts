/** What the two processes of a mutation run say to each other. */

/** One spec, as it was measured without any mutant. */
export interface SpecTime {
  /** File, title, and which one of that title. */
  readonly name: string;
  readonly file: string;
  readonly ms: number;
  /** How often it asks which mutant is at work. */
  readonly questions: number;
  /** The mutants that it comes by. */
  readonly hits: readonly number[];
  /** The mutants that its file comes by as it is loaded. */
  atLoad?: readonly number[];
}

/** One mutant, and the specs that it is tried on: their names, and how many questions they ask without it. */
export interface Trial {
  readonly kind: 'try';
  readonly id: number;
  readonly specs: readonly (readonly [name: string, questions: number])[];
  readonly files: readonly string[];
}

export type Order =
  Trial | { readonly kind: 'measure'; readonly files: readonly string[]; readonly mutants: number };

export type Answer =
  | { readonly kind: 'ready' }
  /** Another spec begins. */
  | { readonly kind: 'going on' }
  | { readonly kind: 'measured'; readonly specs: readonly SpecTime[]; readonly failures: readonly string[] }
  | {
      readonly kind: 'tried';
      /** The spec that failed, and how; undefined if none did. */
      readonly by: string | undefined;
      readonly file: string | undefined;
    };

/** A change to a file of Lua, and the mutant that it makes. */
export interface LuaEdit {
  readonly id: number;
  readonly file: string;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}
