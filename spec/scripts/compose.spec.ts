import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { COMPOSE_FILE, LOCK_SETTINGS, readComposeFile, settingsOf } from '../support/compose-file.js';

const NAMES = ['redis-1', 'redis-2', 'redis-3', 'redis-4', 'redis-5'];

/** The rows of the tables in docs/OPERATION.md: first cell → second cell, without the marks of code. */
function documented(): Map<string, string> {
  const text = readFileSync(new URL('../../docs/OPERATION.md', import.meta.url), 'utf8');
  const bare = (cell = ''): string => cell.replaceAll('`', '').trim();
  const rows = text.split('\n').filter((line) => line.startsWith('|'));
  return new Map(rows.map((row) => row.split('|')).map(([, name, value]) => [bare(name), bare(value)]));
}

describe('docker-compose.redlock.yml', () => {
  const file = readComposeFile();
  const services = Object.entries(file.services);

  it('has five masters, each with a volume of its own', () => {
    expect(Object.keys(file.services)).to.deep.equal(NAMES);
    expect(Object.keys(file.volumes)).to.deep.equal(NAMES);
    for (const [name, service] of services) expect(service.volumes).to.deep.equal([`${name}:/data`]);
  });

  it('publishes each on a loopback port of its own, 6381 to 6385 unless told otherwise', () => {
    const ports = services.map(([, service]) => service.ports);
    expect(ports).to.deep.equal(
      [1, 2, 3, 4, 5].map((i) => [`127.0.0.1:\${QUORATE_PORT_${i}:-${6380 + i}}:6379`]),
    );
  });

  it('uses an image that can be chosen', () => {
    for (const [, service] of services) expect(service.image).to.equal('${QUORATE_REDIS_IMAGE:-redis:7.4}');
  });

  it('starts again after a crash, ends in order, and tells its health by a PING', () => {
    for (const [, service] of services) {
      expect(service.restart).to.equal('unless-stopped');
      expect(service.init).to.equal(true);
      expect(service.stop_grace_period).to.equal('10s');
      expect(service.healthcheck?.test.join(' ')).to.match(/^CMD-SHELL redis-cli ping \| grep/);
    }
  });

  it('independent: no master follows another or joins a cluster', () => {
    const ties = ['replicaof', 'slaveof', 'cluster-enabled'];
    for (const [, service] of services) expect(settingsOf(service)).to.not.have.any.keys(...ties);
  });

  for (const [setting, value] of Object.entries(LOCK_SETTINGS)) {
    it(`${setting} is ${value || 'empty'} on each, and docs/OPERATION.md says the same`, () => {
      for (const [, service] of services) expect(settingsOf(service)[setting]).to.equal(value);
      expect(documented().get(setting)?.replaceAll('"', '')).to.equal(value);
    });
  }

  it('sets nothing else that the docs do not name', () => {
    const told = new Set(['protected-mode', ...documented().keys()]); // the port is published on loopback only
    for (const [, service] of services) {
      expect(Object.keys(settingsOf(service)).filter((setting) => !told.has(setting))).to.deep.equal([]);
    }
  });

  it('is what docs/OPERATION.md says of ports, image and health check', () => {
    const text = readFileSync(new URL('../../docs/OPERATION.md', import.meta.url), 'utf8');
    for (const fact of ['6381', '6385', 'QUORATE_REDIS_IMAGE', 'redis:7.4', 'redis-cli ping']) {
      expect(text).to.contain(fact);
    }
  });

  it('uses nothing that docker-compose 1.29 or docker compose 2 refuses', () => {
    const text = readFileSync(COMPOSE_FILE, 'utf8');
    expect(text).to.not.match(/^(version|name|include):|start_interval|host_ip|\$\{[A-Z_0-9]+:?\+/m);
  });
});
