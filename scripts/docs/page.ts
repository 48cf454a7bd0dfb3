/**
 * One Markdown text, taken apart: its anchors, links, code blocks and code spans, each with its line.
 *
 * Assumes what the texts of this repository keep to: fenced blocks, inline links on one line, no reference links.
 */

export interface Block {
  /** The line of its first line of code, from 1 on. */
  readonly line: number;
  /** What stands behind the opening fence; empty where nothing does. */
  readonly language: string;
  readonly code: string;
}

/** A piece of text and where it stands. */
export interface Found {
  readonly line: number;
  readonly text: string;
}

export interface Page {
  /** Its path from the root, with slashes. */
  readonly file: string;
  readonly anchors: ReadonlySet<string>;
  readonly links: readonly Found[];
  readonly blocks: readonly Block[];
  /** What stands between backticks in the running text. */
  readonly spans: readonly Found[];
}

const FENCE = /^\s*```\s*(\S*)/;
const HEADING = /^#{1,6}\s+(.*?)\s*$/;
const LINK = /\]\(([^()\s]+)(?:\s+"[^"]*")?\)/g;
const ATTRIBUTE = /\b(?:src|srcset|href)="([^"]+)"/g;
const ANCHOR = /<a\s+(?:id|name)="([^"]+)"/g;
const SPAN = /(`+)(.+?)\1/g;

export function readPage(file: string, text: string): Page {
  const { blocks, prose } = split(text);
  const headings = prose.flatMap(({ text: line }) => HEADING.exec(line)?.[1] ?? []);
  const links: Found[] = [];
  const spans: Found[] = [];
  const anchors = new Set(slugs(headings));
  for (const { line, text: words } of prose) {
    for (const [, , span = ''] of words.matchAll(SPAN)) spans.push({ line, text: span });
    const bare = words.replaceAll(SPAN, '');
    for (const pattern of [LINK, ATTRIBUTE]) {
      for (const [, target = ''] of bare.matchAll(pattern)) links.push({ line, text: target });
    }
    for (const [, id = ''] of bare.matchAll(ANCHOR)) anchors.add(id);
  }
  return { file, anchors, links, blocks, spans };
}

function split(text: string): { readonly blocks: readonly Block[]; readonly prose: readonly Found[] } {
  const blocks: Block[] = [];
  const prose: Found[] = [];
  let open: { readonly line: number; readonly language: string; readonly code: string[] } | undefined;
  for (const [index, line] of text.split('\n').entries()) {
    const fence = FENCE.exec(line);
    if (open === undefined) {
      if (fence === null) prose.push({ line: index + 1, text: line });
      else open = { line: index + 2, language: fence[1] ?? '', code: [] };
    } else if (fence === null) {
      open.code.push(line);
    } else {
      blocks.push({ ...open, code: open.code.join('\n') });
      open = undefined;
    }
  }
  if (open !== undefined) blocks.push({ ...open, language: '', code: open.code.join('\n') }); // never closed
  return { blocks, prose };
}

/** The anchors that GitHub gives to headings: a heading that comes again has a number behind it. */
export function slugs(headings: readonly string[]): readonly string[] {
  const seen = new Map<string, number>();
  return headings.map((heading) => {
    const words = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replaceAll(/(^|\s)_([^_]+)_(?=\W|$)/g, '$1$2')
      .toLowerCase();
    const slug = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-');
    const count = seen.get(slug) ?? 0;
    seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
}
