/** The findings that need a server which is not at hand, and the thresholds between a severity and the next. */
import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { findInData } from '../../lib/diagnosis/data-findings.js';
import type { Facts } from '../../lib/diagnosis/examination.js';
import { type Remark, type Subject, together, worstOf } from '../../lib/diagnosis/finding.js';
import { findAtMaster } from '../../lib/diagnosis/master-findings.js';
import { ServerInfo } from '../../lib/diagnosis/server-info.js';
import { findInSet } from '../../lib/diagnosis/set-findings.js';
import type { Transport } from '../../lib/redis/transport.js';

const SUBJECT: Subject = {
  ttlMs: 30_000,
  nodeTimeoutMs: 200,
  driftFactor: 0.01,
  restartGuardMs: 0,
  keyPrefix: '',
  label: true,
  features: ['exclusive'],
};
const GUARDED = { ...SUBJECT, restartGuardMs: 60_000 };
const FIT = [
  'redis_version:7.4.0',
  'role:master',
  'maxmemory:0',
  'maxmemory_policy:noeviction',
  'aof_enabled:1',
];

/** What a master told that is as it should be, but for what is given. */
function factsOf(
  given: Partial<Facts> & { readonly lines?: readonly string[]; readonly name?: string } = {},
): Facts {
  const { lines = [], name = 'a:1', ...rest } = given;
  return {
    // the findings read no more of it
    transport: { name, isCluster: false, database: 0 } as Transport,
    isLoginRefused: false,
    isRecordRefused: false,
    tripsMs: [1],
    info: new ServerInfo([...FIT, ...lines].join('\n')),
    settings: new Map([['appendfsync', 'always']]),
    untold: new Set(),
    refused: [],
    ...rest,
  };
}

const shown = (remarks: readonly Remark[]) => remarks.map(({ code, severity }) => `${code} ${severity}`);
const atMaster = (given: Parameters<typeof factsOf>[0], subject = SUBJECT) =>
  shown(findAtMaster(factsOf(given), subject));
const inData = (given: Parameters<typeof factsOf>[0], subject = SUBJECT) =>
  shown(findInData(factsOf(given), subject));
const inSet = (...all: readonly Parameters<typeof factsOf>[0][]) =>
  shown(findInSet(all.map(factsOf), SUBJECT));
const clock = (ahead: number) => ({ sentMs: 0, receivedMs: 0, shownMs: ahead });

describe('findings: thresholds', () => {
  it('nothing is found where all is as it should be', () => {
    expect([...atMaster({}), ...inData({}), ...inSet({}, { name: 'b:1' }, { name: 'c:1' })]).to.deep.equal(
      [],
    );
  });

  it('ROUND_TRIP: two at p99 beyond the node timeout or a third of the ttl; error from the median on', () => {
    const trips = (usual: number, slow: number) => [...new Array<number>(98).fill(usual), slow, slow];
    expect(atMaster({ tripsMs: trips(1, 100) })).to.deep.equal([]);
    expect(atMaster({ tripsMs: trips(1, 101) })).to.deep.equal(['ROUND_TRIP warning']);
    expect(atMaster({ tripsMs: trips(101, 101) })).to.deep.equal(['ROUND_TRIP error']);
    const patient = { ...SUBJECT, ttlMs: 300, nodeTimeoutMs: 1_000 };
    expect(atMaster({ tripsMs: trips(1, 51) }, patient)).to.deep.equal(['ROUND_TRIP warning']);
  });

  it('ROUND_TRIPS_APART: ten times the round trip of more than half of the others, and 5 ms more', () => {
    const apart = (...mediansMs: readonly number[]) => {
      const all = mediansMs.map((ms, i) => factsOf({ name: `${'abcde'[i]}:1`, tripsMs: [ms] }));
      return findInSet(all, SUBJECT)
        .filter(({ code }) => code === 'ROUND_TRIPS_APART')
        .map(({ severity, nodes }) => `${severity} ${nodes.join()}`);
    };
    expect(apart(40), 'one master has no sister').to.deep.equal([]);
    expect(apart(1, 9.9)).to.deep.equal([]);
    expect(apart(1, 10)).to.deep.equal(['warning b:1']);
    expect(apart(0.2, 0.2, 5.1), 'a fraction of a ms is noise: less than 5 ms more').to.deep.equal([]);
    expect(apart(0.2, 0.2, 5.2)).to.deep.equal(['warning c:1']);
    expect(apart(0.01, 0.01, 4)).to.deep.equal([]);
    expect(apart(40, 0.2, 0.3, 0.2, 60)).to.deep.equal(['warning a:1', 'warning e:1']);
    expect(apart(0.2, 40, 40), 'most are far: one is near').to.deep.equal([]);
    expect(apart(0.2, 0.2, 40, 40)).to.deep.equal(['warning c:1', 'warning d:1']);
    const failure = new Error('no answer');
    expect(
      inSet({ tripsMs: [0.2] }, { name: 'b:1', tripsMs: [0.2] }, { tripsMs: [40], failure }),
      'one that fails is told so',
    ).to.deep.equal(['UNREACHABLE warning']);
  });

  it('VERSION: below 6.2, and below 7.0 with a restart guard', () => {
    const at = (version: string) => ({ lines: [`redis_version:${version}`] });
    expect(atMaster(at('6.0.16'))).to.deep.equal(['VERSION error']);
    expect(atMaster(at('6.2.14'))).to.deep.equal([]);
    expect(atMaster(at('6.2.14'), GUARDED)).to.deep.equal(['VERSION error']);
    expect(atMaster(at('7.0.0'), GUARDED)).to.deep.equal([]);
  });

  it('FORK: anything but Redis and Valkey', () => {
    expect(atMaster({ lines: ['valkey_version:8.1.1'] })).to.deep.equal([]);
    expect(atMaster({ lines: ['dragonfly_version:df-v1.30'] })).to.deep.equal(['FORK warning']);
  });

  it('EVICTION: error with a maxmemory, else a warning', () => {
    const policy = 'maxmemory_policy:allkeys-lru';
    expect(inData({ lines: [policy] })).to.deep.equal(['EVICTION warning']);
    expect(inData({ lines: [policy, 'maxmemory:1000'] })).to.deep.equal(['EVICTION error']);
  });

  it('MEMORY: less than a tenth left of maxmemory, or of the machine’s memory without one', () => {
    const use = (used: number, ...lines: readonly string[]) => ({ lines: [`used_memory:${used}`, ...lines] });
    expect(inData(use(900, 'maxmemory:1000'))).to.deep.equal([]);
    expect(inData(use(901, 'maxmemory:1000'))).to.deep.equal(['MEMORY warning']);
    expect(inData(use(1_000, 'maxmemory:1000'))).to.deep.equal(['MEMORY error']);
    expect(inData(use(901, 'total_system_memory:1000'))).to.deep.equal(['MEMORY warning']);
    expect(inData(use(901))).to.deep.equal([]);
  });

  it('NO_PERSISTENCE and APPENDFSYNC: warnings, and notes under a restart guard', () => {
    const bare = { lines: ['aof_enabled:0'] };
    expect(inData(bare)).to.deep.equal(['NO_PERSISTENCE warning']);
    expect(inData(bare, GUARDED)).to.deep.equal(['NO_PERSISTENCE note']);
    const settings = new Map([['appendfsync', 'everysec']] as const);
    expect(inData({ settings })).to.deep.equal(['APPENDFSYNC warning']);
    expect(inData({ settings }, GUARDED)).to.deep.equal(['APPENDFSYNC note']);
    const putOff = new Map([
      ['appendfsync', 'always'],
      ['no-appendfsync-on-rewrite', 'yes'],
    ] as const);
    expect(inData({ settings: putOff })).to.deep.equal(['APPENDFSYNC warning']);
    expect(inData({ settings: new Map() }), 'not known').to.deep.equal([]);
  });

  it('IO_THREADS: more than one, and a p99 above 5 ms', () => {
    const settings = new Map([['io-threads', '4']] as const);
    expect(atMaster({ settings, tripsMs: [5] })).to.deep.equal([]);
    expect(atMaster({ settings, tripsMs: [5.1] })).to.deep.equal(['IO_THREADS warning']);
    expect(atMaster({ tripsMs: [5.1] })).to.deep.equal([]);
  });

  it('CONNECTIONS: fewer than a tenth left, error at fewer than two', () => {
    const use = (used: number) => ({ lines: [`connected_clients:${used}`, 'maxclients:100'] });
    expect(atMaster(use(90))).to.deep.equal([]);
    expect(atMaster(use(91))).to.deep.equal(['CONNECTIONS warning']);
    expect(atMaster(use(99))).to.deep.equal(['CONNECTIONS error']);
  });

  it('CLOCKS_APART: from 100 ms on, error from half of what a fencing token may lie back', () => {
    const apart = (ms: number) => inSet({ first: clock(ms) }, { first: clock(0) }, { first: clock(0) });
    expect(apart(100)).to.deep.equal([]);
    expect(apart(101)).to.deep.equal(['CLOCKS_APART warning']);
    expect(apart(-501)).to.deep.equal(['CLOCKS_APART error']);
  });

  it('CLOCK_DRIFT: from half of driftFactor on, error from all of it', () => {
    const gained = (ms: number) => ({
      first: { sentMs: 0, receivedMs: 0, shownMs: 0 },
      last: { sentMs: 10_000, receivedMs: 10_000, shownMs: 10_000 + ms },
    });
    const drift = (ms: number) => inSet(gained(ms), {}, {});
    expect(drift(50)).to.deep.equal([]);
    expect(drift(51)).to.deep.equal(['CLOCK_DRIFT warning']);
    expect(drift(-101)).to.deep.equal(['CLOCK_DRIFT error']);
  });

  it('UNREACHABLE: a warning while the others are a quorum, else an error; a login is an error', () => {
    const failure = new Error('not connected');
    expect(inSet({ failure }, {}, {})).to.deep.equal(['UNREACHABLE warning']);
    expect(inSet({ failure }, { failure }, {})).to.deep.equal(['UNREACHABLE error', 'UNREACHABLE error']);
    expect(inSet({ failure, isLoginRefused: true }, {}, {})).to.deep.equal(['LOGIN_REFUSED error']);
    expect([...atMaster({ failure }), ...inData({ failure })], 'nothing else of it').to.deep.equal([]);
  });

  it('EVEN_NUMBER and ONE_MASTER: by the number of masters', () => {
    expect(inSet({})).to.deep.equal(['ONE_MASTER note']);
    expect(inSet({}, {})).to.deep.equal(['EVEN_NUMBER warning']);
    expect(inSet({}, {}, {})).to.deep.equal([]);
  });
});

describe('findings: together', () => {
  const remark = (severity: Remark['severity'], text: string): Remark => ({
    code: 'REPLICA',
    severity,
    text,
    threshold: 'any',
    remedy: 'none',
  });

  it('what is the same at several masters is one finding, and the worst comes first', () => {
    const findings = together([
      { ...remark('note', 'x'), nodes: ['a'] },
      { ...remark('error', 'y'), nodes: ['a'] },
      { ...remark('note', 'x'), nodes: ['b'] },
    ]);
    expect(findings.map(({ text, nodes }) => `${text} ${nodes.join()}`)).to.deep.equal(['y a', 'x a,b']);
    expect(worstOf(findings)).to.equal('error');
    expect(worstOf([])).to.equal(undefined);
  });

  it('each code has a heading in docs/DOCTOR.md, to which its link leads', () => {
    const page = readFileSync(new URL('../../docs/DOCTOR.md', import.meta.url), 'utf8');
    const headings = new Set([...page.matchAll(/^### ([A-Z_]+)$/gm)].map(([, heading]) => heading));
    const source = readFileSync(new URL('../../lib/diagnosis/finding.ts', import.meta.url), 'utf8');
    const union = /export type FindingCode =([^;]*);/.exec(source)?.[1] ?? '';
    const codes = new Set([...union.matchAll(/\| '([A-Z_]+)'/g)].map(([, code]) => code));
    expect(codes.size).to.be.greaterThan(20);
    expect(headings).to.deep.equal(codes);
    expect(together([{ ...remark('note', 'x'), nodes: [] }])[0]?.link).to.equal('docs/DOCTOR.md#replica');
  });
});
