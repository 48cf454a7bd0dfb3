/** The processes that came from one, read from /proc: to see that none of them is left. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';

interface Descendant {
  readonly pid: number;
  /** Tells it from a later process with the same number. */
  readonly startedAt: string;
}

interface Stat {
  readonly state: string;
  readonly parent: number;
  readonly startedAt: string;
}

export const canLookForThem = existsSync('/proc/self/stat');

export function descendants(of: number): Descendant[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const stats = all.flatMap((name) => {
    const stat = read(Number(name));
    return stat === undefined ? [] : [{ pid: Number(name), ...stat }];
  });
  const found = new Map<number, Descendant>();
  const parents = [of];
  for (let parent = parents.pop(); parent !== undefined; parent = parents.pop()) {
    for (const { pid, startedAt } of stats.filter((stat) => stat.parent === parent)) {
      found.set(pid, { pid, startedAt });
      parents.push(pid);
    }
  }
  return [...found.values()];
}

/** A zombie has ended: it only waits for its parent to hear of it. */
export function isAlive({ pid, startedAt }: Descendant): boolean {
  const stat = read(pid);
  return stat !== undefined && stat.startedAt === startedAt && stat.state !== 'Z';
}

function read(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', parent: Number(fields[1]), startedAt: fields[19] ?? '' };
  } catch {
    return undefined; // it ended meanwhile
  }
}
