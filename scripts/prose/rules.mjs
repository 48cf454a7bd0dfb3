/**
 * What the lint of texts looks for. `isFor`: whether a rule is for a kind of text: `document`, `comment`, or `text` (a message, or
 * help). `find`: whether a sentence breaks it; `isFirst` is the first one below a heading.
 */
const anywhere = () => true;

export const RULES = [
  {
    why: 'a number has a name',
    isFor: anywhere,
    find: (text) => /\bso (?:long|many|much|few|often)\b(?! that\b)/i.test(text),
  },
  {
    why: 'say what it is',
    isFor: anywhere,
    find: (text) => /\b(?:is|are|was|were) (?:none|to be|no news)\b/i.test(text),
  },
  {
    why: 'only for speech and posture',
    isFor: anywhere,
    find: (text) =>
      /\b(?:tells?|telling|told|hears?|heard|hearing|stands?(?!-)|standing|stood)\b/i.test(text),
  },
  {
    // a question, and a phrase that names a part of the code, is no such sentence
    why: 'name the subject',
    isFor: anywhere,
    find: (text) => /^(?:Who|Whoever|Whom|Whatever|Where it)\b[^?]*$/.test(text) && / /.test(text),
  },
  {
    why: 'name the subject',
    isFor: (kind) => kind === 'document',
    find: (text) => /^What\b[^?]*\.$/.test(text),
  },
  {
    why: 'a pronoun without its noun',
    isFor: (kind) => kind === 'document',
    find: (text, isFirst) =>
      isFirst && /^(?:It|They|This|These|Those)\b(?! (?:file|page|document|table))/.test(text),
  },
];
