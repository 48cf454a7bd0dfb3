/** The few words of SVG that the picture is written in. */

export type Attributes = Readonly<Record<string, string | number>>;

export function tag(name: string, attributes: Attributes, children: string | readonly string[] = ''): string {
  const list = Object.entries(attributes).map(
    ([key, of]) => ` ${key}="${escape(typeof of === 'number' ? round(of) : of)}"`,
  );
  const inside = typeof children === 'string' ? children : children.join('');
  return inside === '' ? `<${name}${list.join('')}/>` : `<${name}${list.join('')}>${inside}</${name}>`;
}

export function text(words: string, attributes: Attributes): string {
  return tag('text', attributes, escape(words));
}

export function escape(words: string): string {
  return words
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Two decimals are finer than any screen. */
export function round(number: number): string {
  return String(Math.round(number * 100) / 100);
}

export type Scale = (at: number) => number;

interface Ends {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
}

/** Maps from … to onto start … end, in a straight line. */
export function scale({ from, to, start, end }: Ends): Scale {
  const slope = to === from ? 0 : (end - start) / (to - from);
  return (at) => start + (at - from) * slope;
}
