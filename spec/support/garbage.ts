/** Messages of Redis's protocol that are not what they should be, drawn from a seed. */
import type { Seeded } from '../simulation/world/seeded.js';
import { bulk } from './resp-server.js';

const DEEPEST = 3;
const WORDS = [
  'message',
  'pmessage',
  'smessage',
  'subscribe',
  'unsubscribe',
  'sunsubscribe',
  'quorate:push:x',
  'x',
  '',
];
const SCALARS = [
  '$-1\r\n',
  '_\r\n',
  '*-1\r\n',
  '*0\r\n',
  ':1\r\n',
  ':-5\r\n',
  '+OK\r\n',
  '-ERR x\r\n',
  '#t\r\n',
  ',1.5\r\n',
  '(123\r\n',
  '=7\r\ntxt:abc\r\n',
  '=1\r\nx\r\n',
  '!3\r\nERR\r\n',
  '$&\r\n',
];

/** @param push  a push as it should be, behind that sign */
export function garbage(seeded: Seeded, protocol: 2 | 3, push: (sign: string) => string): Buffer {
  const sign = protocol === 3 ? '>' : '*';
  switch (seeded.whole(0, 5)) {
    case 0:
      return Buffer.from(list(seeded, 0));
    case 1:
      return Buffer.from(value(seeded, 0));
    case 2:
      return mutated(seeded, Buffer.from(push(sign) + push(sign)));
    case 3:
      return mutated(seeded, Buffer.from(push(sign) + list(seeded, 0)));
    case 4:
      return Buffer.from(Array.from({ length: seeded.whole(1, 40) }, () => seeded.whole(0, 255)));
    default:
      return Buffer.from(`${sign}3\r\n${bulk(seeded.pick(WORDS))}${value(seeded, 1)}${value(seeded, 1)}`);
  }
}

function value(seeded: Seeded, depth: number): string {
  const draw = seeded.next();
  if (draw < 0.2 && depth < DEEPEST) return list(seeded, depth + 1);
  return draw < 0.5 ? bulk(seeded.pick(WORDS)) : seeded.pick(SCALARS);
}

function list(seeded: Seeded, depth: number): string {
  const sign = seeded.pick(['*', '*', '>', '~', '%']);
  const count = seeded.whole(0, 3);
  const parts = Array.from({ length: sign === '%' ? 2 * count : count }, () => value(seeded, depth));
  return `${sign}${count}\r\n${parts.join('')}`;
}

/** With one to four bytes changed, lost, put in or cut off. */
function mutated(seeded: Seeded, bytes: Buffer): Buffer {
  let text = bytes;
  for (let change = seeded.whole(1, 4); change > 0 && text.length > 1; change--) {
    const at = seeded.whole(0, text.length - 1);
    const [before, after] = [text.subarray(0, at), text.subarray(at)];
    const byte = Buffer.from([seeded.chance(0.5) ? seeded.whole(0, 255) : seeded.whole(0x30, 0x39)]);
    const kept = [after.subarray(1), after.subarray(seeded.whole(1, 4)), after, Buffer.alloc(0)];
    const rest = kept[seeded.whole(0, 3)] ?? after;
    text = Buffer.concat([before, byte, rest]);
  }
  return text;
}
