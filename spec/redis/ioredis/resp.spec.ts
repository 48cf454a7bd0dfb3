import { expect } from 'chai';
import { Garbled, type Message, RespReader } from '../../../lib/redis/ioredis/resp.js';

/** What is told of what comes in, in pieces as given. */
function told(...pieces: readonly (string | Uint8Array)[]): string[] {
  const messages: string[] = [];
  const reader = new RespReader((message) => messages.push(show(message)));
  for (const piece of pieces) reader.read(Buffer.from(piece));
  return messages;
}

function show({ kind, count, parts }: Message): string {
  const shown = parts.map((part) => part.text ?? `(${part.kind})`).join(' ');
  return kind === 'list' || kind === 'push' ? `${kind} of ${count}: ${shown}` : kind;
}

const WELL_FORMED: readonly (readonly [string, readonly string[]])[] = [
  ['+OK\r\n', ['text']],
  ['-ERR no\r\n', ['error']],
  [':0\r\n:-12\r\n:1790000000000001\r\n', ['number', 'number', 'number']],
  ['$5\r\nhello\r\n$0\r\n\r\n', ['text', 'text']],
  ['$-1\r\n*-1\r\n_\r\n', ['null', 'null', 'null']],
  ['=8\r\ntxt:a\r\nb\r\n', ['text']],
  ['*0\r\n', ['list of 0: ']],
  ['*3\r\n:1\r\n:2\r\n$-1\r\n', ['list of 3: (number) (number) (null)']],
  ['>3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nw x r\r\n', ['push of 3: message c w x r']],
  ['*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n', ['list of 3: subscribe c (number)']],
  ['%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n+proto\r\n:3\r\n', ['list of 4: server redis (text)']],
  ['~1\r\n*2\r\n*0\r\n-ERR a\r\n:7\r\n', ['list of 1: (list)', 'number']],
  ['*2\r\n$17\r\n12345678901234567\r\n+x\r\n', ['list of 2: (text) (text)']],
];

const GARBLED: readonly (readonly [string, RegExp])[] = [
  ['HTTP/1.1 400 Bad Request\r\n', /^Unknown RESP type 72 "H"$/],
  ['\x15\x03\x01', /^Unknown RESP type 21 "\\u0015"$/],
  [':1\r\n\n', /^Unknown RESP type 10/],
  ['#t\r\n', /^Unknown RESP type 35/],
  ['$&\r\n', /an invalid number/],
  ['$\r\n', /an invalid number/],
  ['$1x\r\n', /an invalid number/],
  ['$1-\r\n', /an invalid number/],
  ['$--1\r\n', /an invalid number/],
  [':\r\n', /an invalid number/],
  [':12345678901234567890\r\n', /an invalid number/],
  ['_1\r\n', /an invalid number/],
  ['*1\r1', /a line without its end/],
  ['+OK\n', /a line without its end/],
  ['$-2\r\n', /a length below zero/],
  ['$-0\r\n', /a length below zero/],
  ['$-01\r\n', /a length below zero/],
  ['*-2\r\n', /a length below zero/],
  ['%-1\r\n', /a length below zero/],
  ['>-1\r\n', /a length below zero/],
  ['=-1\r\n', /a length below zero/],
  ['=3\r\ntxt\r\n', /a text without its format/],
  ['$3\r\nfour\r\n', /a text of another length/],
  ['$4\r\nfour\n\n', /a text of another length/],
  ['$4\r\nfour\rx', /a text of another length/],
  ['$999999999\r\n', /a text that is too long/],
  ['$9999999999\r\n', /an invalid number/],
  ['*1048577\r\n', /a list that is too long/],
  ['%524289\r\n', /a list that is too long/],
  ['*1\r\n'.repeat(17), /lists in lists that are too deep/],
  ['*1\r\n>1\r\n', /a push in a message/],
];

describe('resp: what a master says', () => {
  for (const [bytes, messages] of WELL_FORMED) {
    it(`${JSON.stringify(bytes)}: ${messages.join(', ')}, wherever it is cut`, () => {
      expect(told(bytes)).to.deep.equal(messages);
      expect(told(...bytes.split(''))).to.deep.equal(messages);
      for (let at = 1; at < bytes.length; at++)
        expect(told(bytes.slice(0, at), bytes.slice(at)), `cut at ${at}`).to.deep.equal(messages);
    });
  }

  it('one after another, as they come', () => {
    const all = WELL_FORMED.map(([bytes]) => bytes).join('');
    expect(told(all)).to.deep.equal(WELL_FORMED.flatMap(([, messages]) => messages));
  });

  it('counts the bytes of messages that have ended', () => {
    const reader = new RespReader(() => undefined);
    const ended = ['*2\r\n:1', '\r\n$3\r\nab', 'c\r\n:1\r\n+O', 'K\r\n', ':1\r\n'].map((piece) => {
      reader.read(Buffer.from(piece));
      return reader.ended;
    });
    expect(() => reader.read(Buffer.from(':1\r\n*1\r\n?'))).to.throw(Garbled);
    expect(reader.ended).to.equal(4); // of what came before
    expect(ended).to.deep.equal([0, 0, 7, 3, 4]);
  });

  for (const [bytes, text] of GARBLED) {
    it(`${JSON.stringify(bytes.slice(0, 40))}: garbled, wherever it is cut`, () => {
      expect(() => told(bytes)).to.throw(Garbled, text);
      expect(() => told(...bytes.split(''))).to.throw(Garbled, text);
    });
  }

  it('a text in which everything occurs ends where its length says', () => {
    const bytes = Buffer.from(Array.from({ length: 512 }, (_, i) => i % 256));
    expect(told('$512\r\n', bytes, '\r\n:1\r\n')).to.deep.equal(['text', 'number']);
  });

  it('a garbled message reveals nothing of its content', () => {
    for (const [bytes] of GARBLED) {
      try {
        told(`*2\r\n$6\r\nsecret\r\n${bytes}`);
        expect.fail('it is garbled');
      } catch (error) {
        expect(String(error)).to.not.contain('secret');
      }
    }
  });
});
