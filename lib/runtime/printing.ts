/**
 * What `console.log` and `util.inspect` show of an object that has a secret: the name of its class and what `toJSON` gives,
 * whatever they are asked for.
 */

/** The method that `util.inspect` looks for; the same symbol in all runtimes that have one. */
export const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** What Node calls it with; `inspect` itself comes last. */
export type Inspecting = [
  depth: number,
  options: object,
  inspect: (value: unknown, options: object) => string,
];

export function printed(owner: { toJSON(): object }, name: string, ...given: Inspecting): string {
  const [depth, options, inspect] = given;
  return depth < 0 ? `[${name}]` : `${name} ${inspect(owner.toJSON(), options)}`;
}
