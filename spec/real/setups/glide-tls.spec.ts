/**
 * TLS by Valkey GLIDE. It takes whom to trust and has no certificate of its own to show, so the servers ask for none. A
 * server's own certificate, if that vouches for itself, is none that GLIDE trusts: an authority has to.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GlideClient } from '@valkey/valkey-glide';
import { expect } from 'chai';
import { Redlock } from '../../../lib/redlock.js';
import { type Masters, startMasters } from '../../../scripts/masters.js';
import { HOST } from '../../../scripts/masters/wait.js';
import { PATIENT } from '../../support/patience.js';
import { type AnyClient, byHand, eventually } from '../../support/real.js';
import { GLIDE_KINDS } from '../../support/unordered.js';
import { certify, certifyBy } from '../support/certificates.js';
import { expectPromises, untilAllAnswer } from '../support/promises.js';
import { openTlsPort } from '../support/tls-port.js';

const NODES = 3;

describe(`set-ups: TLS by Valkey GLIDE, N=${NODES}`, () => {
  let folder: string;
  let masters: Masters;
  let tlsPorts: readonly number[];
  let trusted: object;
  let other: object;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quorate-tls-'));
    const authority = certify(folder, 'authority');
    const server = certifyBy(authority, folder, 'server');
    [trusted, other] = [settings(authority.caFile), settings(certify(folder, 'stranger').caFile)];
    masters = await startMasters(NODES, { backend: 'process' });
    tlsPorts = await Promise.all(masters.list.map(({ port }) => openTlsPort(port, server, 'no')));
  });
  after(async () => {
    await masters.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  function settings(caFile: string): object {
    const tlsAdvancedConfiguration = { rootCertificates: readFileSync(caFile) };
    return { useTLS: true, advancedConfiguration: { tlsAdvancedConfiguration } };
  }

  const opened: AnyClient[] = [];
  const locks: Redlock[] = [];
  afterEach(async () => {
    for (const redlock of locks.splice(0)) await redlock.close({ releaseHeld: true });
    for (const client of opened.splice(0)) client.disconnect();
  });
  function open(): Redlock {
    const clients = tlsPorts.flatMap((port) => GLIDE_KINDS.map((kind) => kind.open(port, { ...trusted })));
    const redlock = new Redlock(clients, PATIENT);
    opened.push(...clients);
    locks.push(redlock);
    return redlock;
  }

  it('all that locks do, and pushes come by TLS as well', async () => {
    const [one, two] = [open(), open()];
    await untilAllAnswer(one, two);
    await expectPromises(one, two);
    const lease = await one.acquire('r');
    const next = two.acquire('r');
    for (const [i, { port }] of masters.list.entries()) {
      const hand = byHand(port);
      const subscriber = new RegExp(` laddr=${HOST}:${tlsPorts[i]} fd=\\d+ name=quorate-pushes .* sub=1 `);
      await eventually(async () => subscriber.test(String(await hand.client('LIST'))));
      hand.disconnect();
    }
    await lease.release();
    await (await next).release();
  });

  it('a server that it does not trust: GLIDE makes no client', async () => {
    const addresses = [{ host: HOST, port: tlsPorts[0] ?? 0 }];
    const made = GlideClient.createClient({ addresses, ...other });
    const error = await made.then(
      () => undefined,
      (reason: Error) => reason,
    );
    expect(error?.message).to.contain('timed out'); // GLIDE gives no other reason
  });
});
