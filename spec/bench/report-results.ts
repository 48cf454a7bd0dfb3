/** What a run could have found: a few rows of each kind. */
import type { Results } from '../../bench/results.js';
import type { Figures } from '../../bench/statistics.js';

const LATENCY = { p50Us: 111.4, p95Us: 222.5, p99Us: 333, meanUs: 120 };
export const FIGURES: Figures = {
  pairs: 1_000,
  failures: 0,
  failure: undefined,
  pairsPerSecond: 4_321.4,
  cpuPerPairUs: 99.6,
  acquire: LATENCY,
  release: LATENCY,
  pair: LATENCY,
};
const RATIO = { median: 0.976, min: 0.91, max: 1.04 };

const HANGS = { trouble: 'hangs (> 5 s)' };

export function results(over: Partial<Results> = {}): Results {
  return {
    command: 'npm run bench',
    mode: 'full',
    surroundings: { Node: 'v20.0.0', CPU: '2 × x' },
    settings: { quorate: 'this library', redlock4: 'defaults: 10 retries' },
    rounds: 9,
    tookMs: 600_000,
    leases: 10_000,
    burst: 20_000,
    renewed: 10_000,
    renewedTtlMs: 10_000,
    leftOut: [],
    uncaught: [
      { scenario: 'faults', contender: 'redlock5', count: 3, first: 'unhandled rejection: Error: x' },
    ],
    loads: [
      { inFlight: 1 },
      { inFlight: 64 },
      { inFlight: 256, works: true as const },
      { inFlight: 64, isOnce: true as const, isBusy: true as const },
    ].flatMap((load) => [
      {
        ...load,
        nodes: 5,
        contender: 'quorate' as const,
        figures: FIGURES,
        ratio: RATIO,
        cpuRatio: RATIO,
        toEqual: { median: 1.23, min: 1.1, max: 1.3 },
        acquireRatio: { median: 1.17, min: 1.1, max: 1.2 },
      },
      { ...load, nodes: 5, contender: 'redlock4' as const, ...HANGS },
    ]),
    bursts: [
      {
        contender: 'quorate',
        isBusy: false,
        granted: { median: 1, min: 0.9872, max: 1 },
        tookMs: { median: 1_234.5, min: 999, max: 2_000 },
        peakBytes: 123_456_789,
        failure: 'Error: no quorum',
      },
      { contender: 'quorate', isBusy: true, ...HANGS },
    ],
    faults: [
      { contender: 'quorate', fault: 'healthy', figures: FIGURES, ratio: RATIO },
      { contender: 'redis-semaphore', fault: 'healthy', figures: FIGURES, ratio: RATIO },
      {
        contender: 'quorate',
        fault: 'one frozen',
        figures: { ...FIGURES, failures: 7, failure: 'Error: no answer within 0.4 s' },
        ratio: RATIO,
      },
      { contender: 'redis-semaphore', fault: 'one frozen', ...HANGS },
    ],
    mingles: [
      {
        contender: 'quorate',
        lanes: 50,
        names: 200,
        holdMs: 5,
        grantsPerSecond: { median: 4_100, min: 3_900, max: 4_300 },
        toBestOther: RATIO,
        waitMs: { p50: 4.25, p99: 40, longest: 90.5 },
        waitToBestOther: RATIO,
        commandsPerGrant: 48.2,
        clientCpuMs: 0.21,
        jain: 0.98,
        gaveUp: 0,
      },
      { contender: 'redlock5', lanes: 50, names: 200, holdMs: 5, ...HANGS },
    ],
    refusals: [
      {
        contender: 'quorate',
        fault: 'three dead',
        code: 'NO_QUORUM',
        elapsedMs: { median: 501, min: 500, max: 502 },
      },
      { contender: 'redlock5', fault: 'three dead', ...HANGS },
    ],
    contention: [
      {
        contender: 'quorate',
        clients: 50,
        nodes: 5,
        isFrozen: false,
        toBestPeer: { median: 2.34, min: 1.87, max: 2.99 },
        handOversToBestPeer: { median: 4.56, min: 4, max: 5 },
        figures: {
          grantsPerSecond: { median: 345.6, min: 300, max: 400 },
          handOversPerSecond: { median: 333.3, min: 300, max: 400 },
          clientCpuMs: 2.71,
          masterCpuMs: 1.82,
          roundTripMs: 0.31,
          claimMs: 0.57,
          heldMs: 1.17,
          handOverRoundTrips: 3.21,
          idealPerSecond: 617,
          shareOfIdeal: 0.56,
          handOverP50Ms: 1.23,
          handOverP99Ms: 45.6,
          requestsPerGrant: 11.5,
          jain: 0.876,
          longestGapMs: 1_234,
          longestGapTurns: 51,
          gaveUp: 8,
          overlaps: 0,
        },
      },
    ],
    crashes: [
      { contender: 'quorate', crash: 'nobody', delayMs: { median: 2.5, min: 2, max: 3 } },
      { contender: 'quorate', crash: 'in the queue', delayMs: { median: 3.5, min: 3, max: 99.5 } },
      { contender: 'quorate', crash: 'once told', delayMs: { median: 1_004, min: 1_003, max: 1_005 } },
    ],
    steps: [
      {
        contender: 'quorate',
        acquireUs: { median: 41.5, min: 40, max: 43 },
        releaseUs: { median: 13.5, min: 13, max: 14 },
        bothUs: { median: 55.5, min: 53, max: 57 },
      },
      { contender: 'redlock5', ...HANGS },
    ],
    cost: [
      {
        contender: 'quorate',
        nodes: 5,
        inFlight: 1,
        figures: {
          requests: 10.02,
          commandsPerMaster: 4,
          masterCpuUs: 62.1,
          clientCpuUs: 742,
          pairsPerSecond: 800,
          entriesPerCall: 12.3,
          acceptancesPerGrant: 0.04,
        },
      },
    ],
    renewal: [{ contender: 'quorate', corePercent: 1.87, requestsPerTtl: 15.2, bytesPerLease: 905, lost: 6 }],
    memory: [{ contender: 'quorate', hold: 'held', bytesPerLease: 447 }],
    names: [
      { contender: 'quorate', keysPerName: 1, bytesPerName: 141.6, livesMs: 60_000 },
      { contender: 'quorate-plain', keysPerName: 0 },
    ],
    packages: [
      {
        contender: 'quorate',
        version: '0.1.0',
        importMs: { median: 21, min: 20, max: 22 },
        installBytes: 1_740_000,
        packages: 3,
      },
    ],
    ...over,
  };
}
