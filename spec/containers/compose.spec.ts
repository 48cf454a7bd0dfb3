import { expect } from 'chai';
import type { ContainerInspectInfo } from 'dockerode';
import { Redlock } from '../../lib/index.js';
import { startMasters, type Masters } from '../../scripts/masters.js';
import { answersPing, ask, until } from '../../scripts/masters/wait.js';
import { LOCK_SETTINGS } from '../support/compose-file.js';
import { needs } from '../support/parts.js';
import { engine } from './support/docker.js';

const ASK_MS = 2_000;

describe('docker-compose.redlock.yml, brought up', () => {
  let masters: Masters;

  before(async function () {
    needs(this, 'Docker', 'docker compose');
    masters = await startMasters(5, { backend: 'compose', persist: true });
  });

  after(async () => {
    await masters?.stop();
  });

  /** The container that publishes a port. */
  async function containerOf(port: number): Promise<ContainerInspectInfo> {
    const docker = await engine();
    const all = await docker.listContainers({ filters: { publish: [`${port}`] } });
    const [found] = all;
    if (found === undefined) throw new Error(`no container publishes ${port}`);
    return docker.getContainer(found.Id).inspect();
  }

  it('each is published on loopback only, and becomes healthy', async () => {
    for (const { port } of masters.list) {
      const { HostConfig } = await containerOf(port);
      const bindings = HostConfig.PortBindings as Record<string, { HostIp: string }[]>;
      expect(bindings['6379/tcp']?.map(({ HostIp }) => HostIp)).to.deep.equal(['127.0.0.1']);
      const isHealthy = async (): Promise<boolean> =>
        (await containerOf(port)).State.Health?.Status === 'healthy';
      await until(`port ${port} to be healthy`, isHealthy, 30_000);
    }
  });

  for (const [setting, value] of Object.entries(LOCK_SETTINGS)) {
    it(`each has ${setting} ${value || 'empty'}`, async () => {
      for (const { port } of masters.list) {
        const reply = await ask(port, `CONFIG GET ${setting}`, ASK_MS);
        expect(reply.split('\r\n')[4]).to.equal(value);
      }
    });
  }

  it('a lock works on them, and what was locked survives a crash and a restart of each', async () => {
    await using redlock = Redlock.connect([...masters.urls], { ttlMs: 120_000 });
    await redlock.ready();
    const lease = await redlock.acquire('kept');
    const docker = await engine();
    let votes = 0;
    for (const [i, master] of masters.list.entries()) {
      const { Id } = await containerOf(master.port);
      const held = await ask(master.port, 'GET kept', ASK_MS);
      if (held.includes(lease.token)) votes++;
      if (i % 2 === 0) {
        await master.kill();
        await master.restart();
      } else {
        await docker.getContainer(Id).restart();
        await until(`port ${master.port} to answer`, () => answersPing(master.port, ASK_MS), 30_000);
      }
      expect(await ask(master.port, 'GET kept', ASK_MS)).to.equal(held);
    }
    expect(votes).to.be.at.least(3);
    await redlock.ready();
    await lease.release();
  });

  it('a frozen master is silent until its thaw, and one brought back empty holds nothing', async () => {
    const [master] = masters.list;
    if (master === undefined) throw new Error('five were asked for');
    await ask(master.port, 'SET key 1', ASK_MS);
    await master.freeze();
    expect(await answersPing(master.port, 300)).to.equal(false);
    await master.thaw();
    await master.kill();
    expect(await answersPing(master.port, ASK_MS)).to.equal(false);
    await master.restart({ empty: true });
    expect(await ask(master.port, 'DBSIZE', ASK_MS)).to.equal(':0\r\n');
  });

  it('nothing is left after the end: no container, no volume, no network', async () => {
    const { Config } = await containerOf(masters.list[0]?.port ?? 0);
    const filters = { label: [`com.docker.compose.project=${Config.Labels['com.docker.compose.project']}`] };
    const docker = await engine();
    expect(await docker.listContainers({ all: true, filters })).to.have.length(5);
    await masters.stop();
    expect(await docker.listContainers({ all: true, filters })).to.deep.equal([]);
    expect(
      (await docker.listVolumes({ filters: JSON.stringify(filters) as never })).Volumes ?? [],
    ).to.deep.equal([]);
    expect(await docker.listNetworks({ filters: JSON.stringify(filters) as never })).to.deep.equal([]);
  });
});
