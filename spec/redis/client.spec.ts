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
      expect(error.message).to.match(
        /^clients\[1\] must be a client of ioredis, node-redis or Valkey GLIDE; got /,
      );
    });
  }
});

describe('transport: fingerprints', () => {
  it('distinguish tokens and do not show them', () => {
    expect(fingerprint('client:secret'))
      .to.match(/^[0-9a-f]{10}$/)
      .and.not.equal(fingerprint('client:other'));
  });
});
