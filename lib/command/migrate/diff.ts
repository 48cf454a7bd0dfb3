/** The changes of a file as a unified diff, made of the edits themselves: `git apply` takes it. */
import { relative } from 'node:path';
import { applied, type Edit } from './edits.js';
import type { Migration } from './migration.js';

const CONTEXT = 3;

/** Lines of the old text, from `from` up to, not including, `to`, and what takes their place. */
interface Change {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

export function diffOf({ path, before, edits }: Migration): string {
  const old = linesOf(before);
  const changes = changesIn(before, edits);
  let shift = 0;
  const hunks = groupsOf(changes).map((group) => {
    const { text, added } = hunkOf(group, old, shift);
    shift += added;
    return text;
  });
  const name = relative('', path).replaceAll('\\', '/');
  return [`--- a/${name}`, `+++ b/${name}`, ...hunks].join('\n');
}

/** With their ends. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function changesIn(before: string, edits: readonly Edit[]): readonly Change[] {
  const starts = [0, ...[...before.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const lineAt = (offset: number): number => starts.findLastIndex((start) => start <= offset);
  const ranges: { from: number; to: number; edits: Edit[] }[] = [];
  for (const edit of edits) {
    const from = lineAt(edit.start);
    const to = lineAt(edit.end) + 1;
    const last = ranges.at(-1);
    if (last === undefined || from >= last.to) ranges.push({ from, to, edits: [edit] });
    else {
      last.to = Math.max(last.to, to);
      last.edits.push(edit);
    }
  }
  const old = linesOf(before);
  return ranges.map(({ from, to, edits }) => {
    const text = applied(before, edits, starts[from] ?? 0, starts[to] ?? before.length);
    return trimmed({ from, to, lines: linesOf(text) }, old);
  });
}

/** Without lines at its ends that are as they were. */
function trimmed({ from, to, lines }: Change, old: readonly string[]): Change {
  const most = Math.min(to - from, lines.length);
  let head = 0;
  while (head < most && old[from + head] === lines[head]) head++;
  let tail = 0;
  while (tail < most - head && old[to - 1 - tail] === lines.at(-1 - tail)) tail++;
  return { from: from + head, to: to - tail, lines: lines.slice(head, lines.length - tail) };
}

/** Those whose context would overlap are in one hunk. */
function groupsOf(changes: readonly Change[]): readonly (readonly Change[])[] {
  const groups: Change[][] = [];
  for (const change of changes) {
    const last = groups.at(-1);
    const end = last?.at(-1)?.to;
    if (last !== undefined && end !== undefined && change.from - end <= 2 * CONTEXT) last.push(change);
    else groups.push([change]);
  }
  return groups;
}

/** @param shift  by how many lines the new text is longer before the hunk */
function hunkOf(
  group: readonly Change[],
  old: readonly string[],
  shift: number,
): { readonly text: string; readonly added: number } {
  const start = Math.max(0, (group[0]?.from ?? 0) - CONTEXT);
  const end = Math.min(old.length, (group.at(-1)?.to ?? 0) + CONTEXT);
  const lines: string[] = [];
  let at = start;
  for (const { from, to, lines: added } of group) {
    lines.push(...old.slice(at, from).map((line) => ` ${line}`));
    lines.push(...old.slice(from, to).map((line) => `-${line}`), ...added.map((line) => `+${line}`));
    at = to;
  }
  lines.push(...old.slice(at, end).map((line) => ` ${line}`));
  const added = group.reduce((sum, { from, to, lines }) => sum + lines.length - (to - from), 0);
  const length = end - start;
  const head = `@@ -${start + 1},${length} +${start + 1 + shift},${length + added} @@`;
  const body = lines.map((line) =>
    line.endsWith('\n') ? line.slice(0, -1) : `${line}\n\\ No newline at end of file`,
  );
  return { text: [head, ...body].join('\n'), added };
}
