/** The sentences of a file: of a document, of the comments of code, and of the texts within code. */

/** @returns for each sentence its line, its kind, and its text without code */
export function sentencesOf(path, source) {
  if (path.endsWith('.md')) return fromDocument(source);
  return path.endsWith('.lua') ? fromLua(source) : fromCode(source);
}

function fromDocument(source) {
  let isFirst = true;
  return paragraphs(source.split('\n')).flatMap(({ isHeading, line, text }) => {
    const sentences = split(text, line, 'document');
    if (isFirst && !isHeading && sentences.length > 0) sentences[0].isFirst = true;
    isFirst = isHeading && !text.endsWith('?'); // a question has named it
    return sentences;
  });
}

/** Outside blocks of code: a line is a paragraph, an item or a heading; of a row of a table, each cell is one. */
function paragraphs(lines) {
  let isCode = false;
  return lines.flatMap((text, i) => {
    const isFence = /^\s*(?:```|~~~)/.test(text);
    if (isFence) isCode = !isCode;
    if (isFence || isCode || text.startsWith('<')) return [];
    return (text.startsWith('|') ? text.split('|') : [text])
      .map((cell) => cell.trim().replace(/^(?:[-*+]|\d+\.|#+|>)\s+/, ''))
      .filter((cell) => cell !== '' && !/^[-: ]+$/.test(cell))
      .map((cell) => ({ line: i + 1, text: cell, isHeading: text.startsWith('#') }));
  });
}

function fromLua(source) {
  return blocks(source.split('\n'), /^\s*--(?!@)\s?/);
}

/** Comments, and texts of three words or more. */
function fromCode(source) {
  const comments = [];
  const texts = [];
  const pattern =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*(?=[\s.,;)])/g;
  for (const { 0: piece, index } of source.matchAll(pattern)) {
    const line = source.slice(0, index).split('\n').length;
    if (piece.startsWith('/*')) comments.push({ line, text: piece.slice(2, -2), isBlock: true });
    else if (piece.startsWith('//')) comments.push({ line, text: piece.slice(2), isBlock: false });
    else if (/^['"`]/.test(piece) && /\w+ \w+ \w+/.test(piece))
      texts.push({ line, text: piece.slice(1, -1) });
  }
  return [
    ...joined(comments).flatMap(({ line, text }) => split(text, line, 'comment')),
    ...texts.flatMap(({ line, text }) => split(text.replace(/\$\{[^}]*\}/g, 'x'), line, 'text')),
  ];
}

/** Comments of one line below each other are one. */
function joined(comments) {
  const whole = [];
  for (const { isBlock, line, text } of comments) {
    const last = whole.at(-1);
    const bare = text.replace(/^\s*\*+ ?/gm, '').replace(/@example[\s\S]*?(?=\n\s*@|$)/g, '');
    if (!isBlock && last?.isBlock === false && last.end === line - 1) {
      last.text += `\n${bare}`;
      last.end = line;
    } else whole.push({ isBlock, line, end: line, text: bare });
  }
  return whole;
}

function blocks(lines, mark) {
  const found = [];
  let block;
  for (const [i, text] of lines.entries()) {
    if (!mark.test(text)) block = undefined;
    else if (block === undefined) found.push((block = { line: i + 1, text: text.replace(mark, '') }));
    else block.text += `\n${text.replace(mark, '')}`;
  }
  return found.flatMap(({ line, text }) => split(text, line, 'comment'));
}

/** Without code, links and emphasis; a tag of a comment begins a sentence. */
function split(text, line, kind) {
  return text
    .replace(/`[^`]*`/g, 'x')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}/g, '')
    .split(/\n\s*\n|(?<=[.!?:])\s+(?=["“(]?[A-Z@])|\n(?=\s*(?:@|[-•·] ))/)
    .map((sentence) => sentence.replace(/\s+/g, ' ').trim())
    .filter((sentence) => sentence !== '')
    .map((sentence) => ({ line, kind, text: sentence }));
}
