/** Faults of the packages that the faces stand for: shown there, and not here. */
import { expect } from 'chai';
import type { Redis } from 'ioredis';
import { type ChaosMasters, startChaosMasters } from '../chaos/kit/masters.js';
import { wide } from '../support/breadth.js';
import { needs } from '../support/parts.js';
import { byHand, eventually, isReady } from '../support/real.js';
import { type Fault, type FaultBench, FAULTS } from './faults.js';
import { clientOf, face, original, type Subject } from './subject.js';

const MASTERS = 3;

describe('faults of redlock', () => {
  let masters: ChaosMasters;
  const clients: Redis[] = [];
  beforeEach(async () => {
    masters = await startChaosMasters(MASTERS, { persist: false });
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.disconnect();
    await masters.stop();
  });

  function benchOf(subject: Subject): FaultBench {
    const hands = masters.list.map(({ directPort }) => byHand(directPort));
    clients.push(...hands);
    return {
      subject,
      masters,
      hands,
      async open(settings, options = {}, count = MASTERS) {
        const own = masters.list.slice(0, count).map(({ port }) => clientOf(port, options));
        clients.push(...own);
        await eventually(() => own.every(isReady));
        return { redlock: subject.make(own, settings), clients: own };
      },
    };
  }

  /** Whether it came up. */
  async function comesUp({ check, tries = 1 }: Fault, subject: Subject): Promise<boolean> {
    for (let i = 0; i < tries; i++) {
      const isFree = await check(benchOf(subject)).then(
        () => true,
        () => false,
      );
      if (!isFree) return true;
      for (const { proxy } of masters.list) proxy.delay(0);
    }
    return false;
  }

  for (const fault of FAULTS) {
    for (const version of fault.versions) {
      it(`${fault.what}: not by the face of version ${version}`, () => fault.check(benchOf(face(version))));
    }
  }

  for (const fault of wide(FAULTS, [])) {
    for (const version of fault.versions) {
      it(`${fault.what}: by redlock ${version}`, async function () {
        needs(this, 'bench/node_modules');
        expect(await comesUp(fault, original(version)), 'the fault').to.equal(true);
      });
    }
  }
});
