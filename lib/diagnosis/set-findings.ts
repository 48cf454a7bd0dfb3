/** Findings about the masters as a set: their number, their clocks, two addresses of one server. Pure. */
import { BACK_US } from '../protocol/lua/stored.js';
import { quorumOf } from '../protocol/quorum.js';
import { percentile } from '../runtime/statistics.js';
import { apartMs, driftOf, type Reading } from './clock-comparison.js';
import type { Facts } from './examination.js';
import type { Remark, RemarkOn, Subject } from './finding.js';
import { counted, shownMs } from './master-findings.js';

/** A master is much slower than the others if its round trip is this many times theirs … */
const TIMES_SLOWER = 10;
/** … and this much longer, in ms: nobody notices less, and round trips to a busy machine vary by as much. */
const SLOWER_BY_MS = 5;
/** Clocks under NTP are closer together than this. */
const APART_MS = 100;
/** Half of the distance by which a fencing token may lag (protocol A2): beyond it, a grant takes a second round trip. */
const TOO_FAR_MS = BACK_US / 2_000;

export function findInSet(all: readonly Facts[], subject: Subject): readonly RemarkOn[] {
  return [
    ...ofNumber(all),
    ...ofFailures(all),
    ...ofTrips(all),
    ...ofTwins(all),
    ...ofDatabases(all),
    ...ofClocks(all),
    ...ofDrift(all, subject),
  ];
}

function on(nodes: readonly Facts[], remark: Remark): RemarkOn {
  return { ...remark, nodes: nodes.map(({ transport }) => transport.name) };
}

function ofNumber(all: readonly Facts[]): readonly RemarkOn[] {
  const count = all.length;
  if (count === 1) {
    return [
      on([], {
        code: 'ONE_MASTER',
        severity: 'note',
        text: 'There is one master: the lock is only as available as this server, and a fail-over may lose it.',
        threshold: '1',
        remedy: 'Use three or five independent masters if locks must survive the loss of one.',
      }),
    ];
  }
  if (count % 2 !== 0) return [];
  return [
    on([], {
      code: 'EVEN_NUMBER',
      severity: 'warning',
      text: `${count} masters need a quorum of ${quorumOf(count)}, and bear ${counted(count - quorumOf(count), 'failure')}, as ${count - 1} would.`,
      threshold: 'any even number',
      remedy: 'Add a master, or take one away.',
    }),
  ];
}

function ofFailures(all: readonly Facts[]): readonly RemarkOn[] {
  const failed = all.filter(({ failure }) => failure !== undefined);
  const hasQuorum = all.length - failed.length >= quorumOf(all.length);
  return failed.map((facts) => {
    const cause = facts.failure?.message ?? '';
    const refused: Remark = {
      code: 'LOGIN_REFUSED',
      severity: 'error',
      text: `The master refuses the login: ${cause}.`,
      threshold: 'any',
      remedy: 'Correct user and password in the client’s address.',
    };
    const rest = hasQuorum ? 'The others are a quorum.' : 'The others are no quorum: nothing can be locked.';
    const unreachable: Remark = {
      code: 'UNREACHABLE',
      severity: hasQuorum ? 'warning' : 'error',
      text: `The master does not answer: ${cause}. ${rest}`,
      threshold: 'no answer within the timeout; fewer than a quorum answer: error',
      remedy: 'Start the server, or check the network, the address and the firewall.',
    };
    return on([facts], facts.isLoginRefused ? refused : unreachable);
  });
}

/** Compares each with the others: one near master must not make all others look slow, and slow ones must not hide each other. */
function ofTrips(all: readonly Facts[]): readonly RemarkOn[] {
  const usual = all.flatMap((facts) => {
    const ms = facts.failure === undefined ? percentile(facts.tripsMs, 0.5) : undefined;
    return ms === undefined ? [] : [{ facts, ms }];
  });
  return usual.flatMap((one) => {
    const others = usual.filter((other) => other !== one).map(({ ms }) => ms);
    const mostMs = others.sort((a, b) => a - b)[others.length >> 1]; // more than half of them take no longer
    if (mostMs === undefined || one.ms < mostMs * TIMES_SLOWER || one.ms - mostMs < SLOWER_BY_MS) return [];
    return [
      on([one.facts], {
        code: 'ROUND_TRIPS_APART',
        severity: 'warning',
        text: `Half of the round trips take ${shownMs(one.ms)} or more; at most other masters they take ${shownMs(mostMs)}. Locks slow down when a quorum needs this master.`,
        threshold: `${TIMES_SLOWER} times the median of more than half of the others, and ${SLOWER_BY_MS} ms more`,
        remedy:
          'Check the load of the master (SLOWLOG GET, INFO) and the network to it, or replace it by a nearer one.',
      }),
    ];
  });
}

/** The run id identifies the process; two addresses may lead to the same process. */
function ofTwins(all: readonly Facts[]): readonly RemarkOn[] {
  const byProcess = new Map<string, Facts[]>();
  for (const facts of all) {
    const runId = facts.info?.text('run_id');
    if (runId !== undefined && !facts.transport.isCluster)
      byProcess.set(runId, [...(byProcess.get(runId) ?? []), facts]);
  }
  return [...byProcess.values()]
    .filter((same) => same.length > 1)
    .map((same) =>
      on(same, {
        code: 'SAME_SERVER',
        severity: 'error',
        text: `${same.length} addresses lead to one server, which votes once for each: a quorum may be that server alone.`,
        threshold: 'any',
        remedy: 'List each server once.',
      }),
    );
}

function ofDatabases(all: readonly Facts[]): readonly RemarkOn[] {
  const numbers = [...new Set(all.map(({ transport }) => transport.database ?? 0))];
  if (numbers.length < 2) return [];
  return [
    on(all, {
      code: 'DATABASE',
      severity: 'error',
      text: `The clients use different databases (${numbers.join(', ')}): one name in two databases is two locks.`,
      threshold: 'any',
      remedy: 'Give all clients, in all processes, the same database number.',
    }),
  ];
}

function ofClocks(all: readonly Facts[]): readonly RemarkOn[] {
  const read = all.flatMap((facts) => (facts.first === undefined ? [] : [{ facts, reading: facts.first }]));
  let worst: { readonly ms: number; readonly pair: readonly Facts[] } = { ms: 0, pair: [] };
  for (const [i, one] of read.entries()) {
    for (const other of read.slice(i + 1)) {
      const ms = apartMs(one.reading, other.reading);
      // the one that is ahead first
      const pair = ms > 0 ? [one.facts, other.facts] : [other.facts, one.facts];
      if (Math.abs(ms) > worst.ms) worst = { ms: Math.abs(ms), pair };
    }
  }
  if (worst.ms <= APART_MS) return [];
  const isTooFar = worst.ms > TOO_FAR_MS;
  const names = worst.pair.map(({ transport }) => transport.name);
  return [
    on(worst.pair, {
      code: 'CLOCKS_APART',
      severity: isTooFar ? 'error' : 'warning',
      text: `The clock of ${names[0]} is ${shownMs(worst.ms)} or more ahead of that of ${names[1]}.`,
      threshold: `${APART_MS} ms; ${TOO_FAR_MS} ms: error`,
      remedy: 'Synchronise the clocks of all masters by NTP; slew them, do not step them.',
    }),
  ];
}

function ofDrift(all: readonly Facts[], { driftFactor }: Subject): readonly RemarkOn[] {
  return all.flatMap((facts) => {
    const { first, last } = facts;
    if (first === undefined || last === undefined) return [];
    const drift = driftOf(first, last);
    if (Math.abs(drift) <= driftFactor / 2) return [];
    const isTooMuch = Math.abs(drift) > driftFactor;
    const way = drift > 0 ? 'gained' : 'lost';
    return [
      on([facts], {
        code: 'CLOCK_DRIFT',
        severity: isTooMuch ? 'error' : 'warning',
        text: `The master's clock ${way} ${percent(drift)} or more against ours within ${seconds(first, last)}; driftFactor allows ${percent(driftFactor)}.`,
        threshold: 'half of driftFactor; driftFactor: error',
        remedy: 'Make NTP slew slowly (chrony: maxslewrate 500) and never step clocks, or raise driftFactor.',
      }),
    ];
  });
}

function percent(share: number): string {
  return `${(Math.abs(share) * 100).toFixed(2)} %`;
}

function seconds(first: Reading, last: Reading): string {
  return `${((last.receivedMs - first.receivedMs) / 1_000).toFixed(1)} s`;
}
