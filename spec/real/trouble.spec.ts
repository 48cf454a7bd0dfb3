/**
 * Each bad state of a server: the code and the text that callers get when it costs the quorum, that a minority costs
 * nothing, that nothing is left behind, and that the same instance works again once the state is over.
 */
import { readFileSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { type Lease, type Master, Redlock, RedlockError, type RedlockOptions } from '../../lib/index.js';
import { HOST } from '../../scripts/masters/wait.js';
import { locksOn } from '../support/commands.js';
import { LONG_GUARD_MS, PATIENT } from '../support/patience.js';
import { eventually } from '../support/real.js';
import { rejection } from '../support/rejection.js';
import { type Fleet, type Patient, startFleet } from './support/fleet.js';
import { type Mode, PASSWORD, type Told, type Trouble, TROUBLES } from './support/troubles.js';
import { wide } from '../support/breadth.js';

/** An extension to what the keys live for anyway changes nothing on the masters. */
const LONGER_MS = PATIENT.ttlMs + 1_000;

const OPTIONS: Readonly<Record<Mode, RedlockOptions>> = {
  fenced: PATIENT,
  plain: { ...PATIENT, fencing: false },
  // a prefix of its own: the marker concerns all clients of that prefix
  guarded: { ...PATIENT, keyPrefix: 'r-guarded:', restartGuardMs: LONG_GUARD_MS },
};

const SIZES = [
  { nodes: 1, sick: 1, modes: ['fenced', 'plain'] },
  { nodes: 3, sick: 1, modes: ['fenced', 'plain'] },
  { nodes: 3, sick: 2, modes: ['fenced', 'plain', 'guarded'] },
] as const;

const CASES = SIZES.flatMap(({ nodes, sick, modes }) => modes.map((mode) => ({ nodes, sick, mode })));

/** A client's part, a colon, a secret: what no text may hold. */
const TOKEN = /[\w-]{6,}:[\w-]{20,}/;

describe('bad states of a server', () => {
  let fleet: Fleet;
  let redlock: Redlock;
  let patients: readonly Patient[];
  const ends: (() => Promise<void> | void)[] = [];
  let spec: AbortController;
  beforeEach(() => {
    spec = new AbortController();
  });
  before(async () => {
    fleet = await startFleet(3);
  });
  after(() => fleet.stop());
  afterEach(async () => {
    spec.abort();
    await heal();
    await redlock.close({ releaseHeld: true });
    for (const patient of fleet.patients) {
      patient.reroute();
      await patient.hand.flushall();
    }
  });

  async function heal(): Promise<void> {
    for (const end of ends.splice(0)) await end();
  }

  async function open(trouble: Trouble, mode: Mode, nodes: number): Promise<void> {
    patients = fleet.patients.slice(0, nodes);
    if (trouble.via === 'tls') for (const patient of patients) patient.reroute(patient.tlsPort);
    const masters = patients.map(({ port }) => masterAt(port, trouble));
    redlock = Redlock.connect(masters, OPTIONS[mode]);
    const isAllThere = async (): Promise<boolean> =>
      (await redlock.inspect('r')).nodes.every(({ state }) => state === 'free');
    await eventually(isAllThere);
    if (mode === 'guarded') await redlock.bootstrap();
  }

  function masterAt(port: number, { via }: Trouble): Master {
    const address = { host: HOST, port };
    if (via === 'tls') return { ...address, tls: { ca: readFileSync(fleet.certificates.trusted.caFile) } };
    if (via === 'database') return { ...address, db: 3 };
    return via === 'password' ? { ...address, password: PASSWORD } : address;
  }

  async function begin(trouble: Trouble, sick: readonly Patient[]): Promise<void> {
    for (const patient of sick) ends.push(await trouble.begin(patient, fleet.certificates));
  }

  /** The same instance has all masters again, and none of them keeps a vote. */
  async function expectRecovery(trouble: Trouble, leases: readonly Lease[]): Promise<void> {
    if (trouble.isSticky === true) await eventually(() => works(redlock));
    await (await redlock.acquire('r-again')).release();
    await eventually(() => isVotedByAll(redlock));
    for (const lease of leases) {
      await lease.extend();
      await lease.release();
    }
    for (const { hand } of patients) await eventually(async () => (await locksOn(hand)).length === 0);
  }

  for (const trouble of TROUBLES) {
    for (const { nodes, sick, mode } of wide(CASES, CASES.slice(2, 3))) {
      it(`${trouble.name}: N=${nodes}, ${sick} of them, ${mode}`, async () => {
        await open(trouble, mode, nodes);
        const [kept, given] = [await redlock.acquire('r-kept'), await redlock.acquire('r-given')];
        await kept.extend(); // the first extension carries the source of its script
        const ill = patients.slice(0, sick);
        await begin(trouble, ill);
        const isQuorum = sick <= Math.floor((nodes - 1) / 2);
        const toldAcquire = isQuorum ? undefined : trouble.acquire(mode);
        const toldExtend = isQuorum ? undefined : (trouble.extend ?? trouble.acquire)(mode);

        const tries = { waitMs: 0 };
        if (toldAcquire === undefined) await (await redlock.acquire('r-other')).release();
        else
          expectTold(
            await settled(() => redlock.acquire('r-other', tries), toldAcquire, ill, spec.signal),
            toldAcquire,
            ill,
          );
        if (toldExtend === undefined) await kept.extend(LONGER_MS);
        else
          expectTold(
            await settled(() => kept.extend(LONGER_MS), toldExtend, ill, spec.signal),
            toldExtend,
            ill,
          );
        await given.release();
        expect([kept.status, given.status]).to.deep.equal(['held', 'released']);

        await heal();
        await expectRecovery(trouble, [kept]);
      });
    }
  }
});

/**
 * The error once the clients know of the state. Until then a connection that broke just now may be all that is known;
 * that is NO_QUORUM as well. On a server with other texts it would go on for ever: it ends with its spec.
 */
async function settled(
  call: () => Promise<unknown>,
  { cause, code }: Told,
  ill: readonly Patient[],
  spec: AbortSignal,
): Promise<RedlockError> {
  for (;;) {
    const error = await rejection(call());
    spec.throwIfAborted();
    const causes = error.tally.flatMap((one) =>
      one.outcome === 'unknown' ? [`${one.node} ${one.cause.message}`] : [],
    );
    const isKnown = ({ name }: Patient): boolean =>
      causes.some((one) => one.startsWith(name) && cause.test(one));
    if (ill.every(isKnown)) return error;
    expect(error.code, error.message).to.be.oneOf(['NO_QUORUM', code]);
    await turn(); // without a connection a call fails in the same turn, and nothing would ever come in
  }
}

function expectTold(error: RedlockError, { code, cause }: Told, ill: readonly Patient[]): void {
  expect(error.code, error.message).to.equal(code);
  for (const { name } of ill) {
    const entry = error.tally.find(({ node }) => node === name);
    expect(entry, name).to.have.nested.property('cause.message').that.matches(cause);
    expect(error.message).to.contain(`${name} unknown (`);
  }
  const unaffected = error.tally.filter(({ node }) => !ill.some(({ name }) => name === node));
  expect(unaffected.map(({ outcome }) => outcome)).to.not.include('refused');
  const shown = [error.message, error.stack, JSON.stringify(error)].join('\n');
  expect(shown.replace(/ at .*$/gm, '')).to.not.match(TOKEN);
  expect(shown).to.not.contain(PASSWORD);
}

async function works(redlock: Redlock): Promise<boolean> {
  try {
    await (await redlock.acquire('r-again', { waitMs: 0 })).release();
    return true;
  } catch (error) {
    if (RedlockError.is(error)) return false;
    throw error;
  }
}

/** Has every master given its vote? One whose connection is not back yet does not. */
async function isVotedByAll(redlock: Redlock): Promise<boolean> {
  const lease = await redlock.acquire('r-all');
  const { nodes } = await redlock.inspect('r-all');
  await lease.release();
  return nodes.every(({ state }) => state === 'held');
}
