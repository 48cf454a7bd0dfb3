/** Enough of an XML reader to say whether a picture is well-formed. */
import { expect } from 'chai';

const MARKUP = /<(\/?)([A-Za-z][\w:.-]*)((?:\s+[\w:.-]+="[^"<]*")*)\s*(\/?)>/y;
const TEXT = /(?:[^<&]|&(?:amp|lt|gt|quot|#\d+|#x[\da-f]+);)+/iy;

/** @returns the names of its elements, in order; fails where it is not well-formed */
export function elementsOf(xml: string): readonly string[] {
  const names: string[] = [];
  const open: string[] = [];
  let at = 0;
  while (at < xml.length) {
    TEXT.lastIndex = at;
    const text = TEXT.exec(xml)?.[0] ?? '';
    at += text.length;
    if (at >= xml.length) break;
    MARKUP.lastIndex = at;
    const tag = MARKUP.exec(xml);
    expect(tag, `markup at ${at}: ${xml.slice(at, at + 80)}`).to.not.equal(null);
    const [all = '', close, name = '', attributes = '', empty] = tag ?? [];
    at += all.length;
    const keys = [...attributes.matchAll(/\s([\w:.-]+)=/g)].map(([, key]) => key);
    expect(new Set(keys).size, `attributes of ${all}`).to.equal(keys.length);
    if (close === '/') expect(open.pop(), `the end of <${name}>`).to.equal(name);
    else {
      names.push(name);
      if (empty !== '/') open.push(name);
    }
  }
  expect(open, 'elements left open').to.deep.equal([]);
  return names;
}
