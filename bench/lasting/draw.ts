/** Chance. */
export function between(least: number, most: number): number {
  return least + Math.random() * (most - least);
}

export function chance(share: number): boolean {
  return Math.random() < share;
}

export function pick<T>(list: readonly [T, ...T[]]): T {
  return list[Math.floor(Math.random() * list.length)] ?? list[0];
}
