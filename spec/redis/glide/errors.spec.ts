import { expect } from 'chai';
import { inServersWords, isTimeLimit } from '../../../lib/redis/glide/errors.js';
import { isServerError } from '../../../lib/redis/server-errors.js';

const SIGNALLED = 'An error was signalled by the server: - ';

describe("errors of Valkey GLIDE in servers' words", () => {
  for (const [given, text] of [
    [`${SIGNALLED}ResponseError: no such thing`, 'ERR no such thing'],
    [`${SIGNALLED}NoScriptError: No matching script.`, 'NOSCRIPT No matching script.'],
    [`${SIGNALLED}PermissionDenied: this user`, 'NOPERM this user'],
    [`${SIGNALLED}ReadOnly: a replica`, 'READONLY a replica'],
    [`${SIGNALLED}BusyLoadingError: wait`, 'LOADING wait'],
    [`${SIGNALLED}CrossSlot: keys`, 'CROSSSLOT keys'],
    ['WRONGTYPE: a list', 'WRONGTYPE a list'],
    ['OOM: command not allowed', 'OOM command not allowed'],
  ] as const) {
    it(`${given}: ${text}`, () => {
      const error = inServersWords(new Error(given));
      expect([error.message, error.cause]).to.deep.equal([text, undefined]);
      expect(isServerError(error)).to.equal(true);
    });
  }

  it('others stay as they are', () => {
    for (const text of [`${SIGNALLED}SomethingNew: x`, 'Reached maximum inflight requests- ClientError']) {
      const error = new Error(text);
      expect(inServersWords(error)).to.equal(error);
      expect(isServerError(error)).to.equal(false);
    }
  });

  it('its time limit is told by its name', () => {
    expect(isTimeLimit(Object.assign(new Error('timed out'), { name: 'TimeoutError' }))).to.equal(true);
    expect(isTimeLimit(new Error('timed out'))).to.equal(false);
  });
});
