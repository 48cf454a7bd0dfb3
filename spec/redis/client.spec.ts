import { expect } from 'chai';
import { checkClient } from '../../lib/redis/client.js';
import { fingerprint } from '../../lib/redis/transport.js';
import { thrown } from '../support/rejection.js';

describe('transport: what is no client', () => {
  for (const given of [
    null,
    undefined,
    'redis://a',
    7,
    {},
    { status: 'ready' },
    [],
    { createBuiltinCommand: 1, status: 'ready' },
  ]) {
    it(`${JSON.stringify(given)} is refused by name of its place`, () => {
      const error = thrown(() => checkClient(given, 'clients[1]', 'say it otherwise'));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(/^clients\[1\] must be a client of ioredis or node-redis; got /);
    });
  }
});

describe('transport: Valkey GLIDE', () => {
  it('is refused, with the reason: commands that are sent together run in any order', () => {
    const glide = { customCommand: () => undefined, invokeScript: () => undefined };
    const { code, message } = thrown(() => checkClient(glide, 'clients[0]', 'say it otherwise'));
    expect(code).to.equal('INVALID_ARGUMENT');
    expect(message).to.match(
      /^clients\[0\] must be a client of ioredis or node-redis with one connection; got .*Valkey GLIDE sends commands in any order/,
    );
  });
});

describe('transport: fingerprints', () => {
  it('distinguish tokens and do not show them', () => {
    expect(fingerprint('client:secret'))
      .to.match(/^[0-9a-f]{10}$/)
      .and.not.equal(fingerprint('client:other'));
  });
});
