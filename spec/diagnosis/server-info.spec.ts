import { expect } from 'chai';
import { isBelow, ServerInfo } from '../../lib/diagnosis/server-info.js';

describe('server info', () => {
  it('reads lines by their names, with either end of line; what is missing is not known', () => {
    const info = new ServerInfo('# Server\r\nredis_version:7.0.15\r\nrole:master\nmaxmemory:0\nempty:\n');
    expect(info.text('role')).to.equal('master');
    expect(info.number('maxmemory')).to.equal(0);
    expect([
      info.text('absent'),
      info.number('absent'),
      info.number('empty'),
      info.number('role'),
    ]).to.deep.equal([undefined, undefined, undefined, undefined]);
  });

  it('tells Redis, Valkey and other forks apart', () => {
    const softwareOf = (...lines: readonly string[]) => new ServerInfo(lines.join('\n')).software;
    expect(softwareOf('redis_version:8.0.2')).to.deep.equal({
      name: 'Redis',
      version: '8.0.2',
      redisVersion: '8.0.2',
    });
    expect(softwareOf('redis_version:7.2.4', 'server_name:valkey', 'valkey_version:8.1.1')).to.deep.equal({
      name: 'Valkey',
      version: '8.1.1',
      redisVersion: '7.2.4',
    });
    expect(softwareOf('redis_version:7.4.0', 'dragonfly_version:df-v1.30').name).to.equal('Dragonfly');
  });

  it('compares versions by their numbers', () => {
    expect(isBelow('6.0.16', '6.2')).to.equal(true);
    expect(isBelow('6.2.0', '6.2')).to.equal(false);
    expect(isBelow('10.1', '6.2')).to.equal(false);
    expect(isBelow('6.10.0', '6.2')).to.equal(false);
  });
});
