/**
 * The output of `console.log` and `util.inspect` for an object with a secret: its class name and its `toJSON`, whatever
 * options are given.
 */

/** The method that `util.inspect` looks for; the same symbol in all runtimes that support it. */
export const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** The arguments with which Node calls it; `inspect` itself comes last. */
export type Inspecting = [
  depth: number,
  options: object,
  inspect: (value: unknown, options: object) => string,
];

export function printed(owner: { toJSON(): object }, name: string, ...given: Inspecting): string {
  const [depth, options, inspect] = given;
  return depth < 0 ? `[${name}]` : `${name} ${inspect(owner.toJSON(), options)}`;
}
