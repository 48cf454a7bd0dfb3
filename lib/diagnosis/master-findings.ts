/** What is found at one master: its connection, its speed, its software, its role, the user's rights. Pure. */
import { isPermanent } from '../redis/server-errors.js';
import { percentile } from '../runtime/statistics.js';
import type { Facts } from './examination.js';
import type { Remark, Subject } from './finding.js';
import { isBelow, type Software } from './server-info.js';

const OLDEST = '6.2';
const OLDEST_WITH_GUARD = '7.0';
/** A claim and an acceptance, or a claim that is sent again with its script. */
const TRIPS_OF_ATTEMPT = 2;
/** From here on an answer is late where there are I/O threads. */
const LATE_MS = 5;

/** How many connections an instance has to each master: for commands, and for pushes. */
const OF_AN_INSTANCE = 2;

/** What is found at a master that answers, in the order of docs/DOCTOR.md. */
export function findAtMaster(facts: Facts, subject: Subject): readonly Remark[] {
  if (facts.failure !== undefined) return []; // what a quorum makes of it is found for all together
  return [
    ...ofTrips(facts, subject),
    ...ofSoftware(facts, subject),
    ...ofRole(facts),
    ...ofRights(facts, subject),
    ...ofThreads(facts),
    ...ofConnections(facts),
    ...ofTheUntold(facts),
  ];
}

function ofTrips({ tripsMs }: Facts, { nodeTimeoutMs, ttlMs }: Subject): readonly Remark[] {
  const usualMs = percentile(tripsMs, 0.5);
  const slowMs = percentile(tripsMs, 0.99);
  if (usualMs === undefined || slowMs === undefined) return [];
  const limits = [
    { what: `the node timeout of ${nodeTimeoutMs} ms`, limitMs: nodeTimeoutMs },
    { what: `a third of the ttl of ${ttlMs} ms, within which a renewal is due`, limitMs: ttlMs / 3 },
  ];
  return limits.flatMap(({ what, limitMs }): readonly Remark[] => {
    const remedy =
      'Move the client nearer to the master, reduce its load, or use a longer ttlMs or nodeTimeoutMs.';
    const threshold = `two round trips, p99: ${what}; median: error`;
    const code = 'ROUND_TRIP';
    if (usualMs * TRIPS_OF_ATTEMPT > limitMs) {
      const text = `Half of the round trips take ${shownMs(usualMs)} or more; two of them exceed ${what}.`;
      return [{ code, severity: 'error', text, threshold, remedy }];
    }
    if (slowMs * TRIPS_OF_ATTEMPT <= limitMs) return [];
    const text = `One round trip in a hundred takes ${shownMs(slowMs)} or more; two of them exceed ${what}.`;
    return [{ code, severity: 'warning', text, threshold, remedy }];
  });
}

function ofSoftware({ info }: Facts, { restartGuardMs }: Subject): readonly Remark[] {
  if (info === undefined) return [];
  const { name, version, redisVersion } = info.software;
  const found: Remark[] = [];
  if (name !== 'Redis' && name !== 'Valkey') found.push(ofFork({ name, version, redisVersion }));
  const least = restartGuardMs > 0 ? OLDEST_WITH_GUARD : OLDEST;
  if (redisVersion !== '' && isBelow(redisVersion, least)) {
    const why = restartGuardMs > 0 ? ' with a restart guard' : '';
    found.push({
      code: 'VERSION',
      severity: 'error',
      text: `The server is compatible with Redis ${redisVersion}; the oldest supported version${why} is ${least}.`,
      threshold: `${OLDEST}, with a restart guard ${OLDEST_WITH_GUARD}`,
      remedy: `Use Redis ${least} or newer, or Valkey.`,
    });
  }
  return found;
}

function ofFork({ name, version }: Software): Remark {
  return {
    code: 'FORK',
    severity: 'warning',
    text: `The server is ${name} ${version}, on which quorate is not tested.`,
    threshold: 'anything but Redis and Valkey',
    remedy: 'Use Redis or Valkey, or run the specs of quorate on this server first.',
  };
}

function ofRole({ info, sentinels, transport }: Facts): readonly Remark[] {
  const found: Remark[] = [];
  if ((info?.text('redis_mode') ?? info?.text('server_mode')) === 'sentinel') {
    found.push({
      code: 'SENTINEL',
      severity: 'error',
      text: 'The address is that of a Sentinel, which keeps no locks.',
      threshold: 'any',
      remedy: 'Pass the Sentinels in ioredis’s `sentinels` option, or list the master itself.',
    });
  }
  if (info?.text('role') === 'slave') {
    found.push({
      code: 'REPLICA',
      severity: 'error',
      text: 'The server is a replica: it refuses votes, or its master overwrites them.',
      threshold: 'any',
      remedy: 'List the master, or make the server a master of its own (REPLICAOF NO ONE).',
    });
  }
  const replicas = info?.number('connected_slaves') ?? 0;
  if (replicas > 0) {
    found.push({
      code: 'HAS_REPLICAS',
      severity: 'warning',
      text: `The server has ${counted(replicas, 'replica')}; a fail-over to one of them may lose the last votes.`,
      threshold: 'any',
      remedy: 'Run masters without replicas, or never fail over to one within the longest ttl.',
    });
  }
  if (transport.isBehindSentinel === true || (sentinels ?? 0) > 0) {
    const how = transport.isBehindSentinel === true ? 'is found through' : 'is watched by';
    found.push({
      code: 'SENTINEL',
      severity: 'warning',
      text: `The master ${how} a Sentinel, whose fail-over may lose the last votes.`,
      threshold: 'any',
      remedy: 'Use masters without fail-over, or read what docs/OPERATION.md says about Sentinel.',
    });
  }
  if (transport.isCluster || info?.text('cluster_enabled') === '1')
    found.push(ofCluster(transport.isCluster));
  return found;
}

function ofCluster(isClient: boolean): Remark {
  const whole =
    'The client is a Redis Cluster client: no queues, no guard, and a fail-over may lose the last votes.';
  const part =
    'The server is a node of a Redis Cluster, but the client is a plain one: the node refuses names of other nodes.';
  return {
    code: 'CLUSTER',
    severity: isClient ? 'warning' : 'error',
    text: isClient ? whole : part,
    threshold: 'any',
    remedy: isClient
      ? 'Use independent masters if you need queues or a guard.'
      : 'Pass a Cluster client, or use a server outside a cluster.',
  };
}

function ofRights(facts: Facts, { features }: Subject): readonly Remark[] {
  const { refused, scriptFailure, pushFailure, info, isRecordRefused } = facts;
  const found: Remark[] = [];
  const missing = [...(refused ?? [])];
  if (features.includes('guard') && info === undefined && !missing.includes('info')) missing.push('info');
  if (scriptFailure !== undefined) found.push(ofScripts(scriptFailure));
  else if (missing.length > 0) {
    found.push({
      code: 'RIGHTS',
      severity: 'error',
      text: `The user may not run ${missing.map((name) => name.toUpperCase()).join(', ')} on the keys that locks use.`,
      threshold: 'any',
      remedy: 'Give the user the rights below: the commands, and the keys and channels.',
    });
  }
  if (isRecordRefused && found.length === 0) {
    found.push({
      code: 'NAMES',
      severity: 'note',
      text: 'The user may not write quorate:client:*: others see this instance by fingerprint, without label, host and process.',
      threshold: 'any',
      remedy: 'Give the user ~quorate:* and +set, or set label: false.',
    });
  }
  if (pushFailure !== undefined) {
    found.push({
      code: 'PUSHES',
      severity: 'warning',
      text: `A push did not arrive: ${pushFailure.message}. Waiters learn of a hand-over late.`,
      threshold: 'any',
      remedy: 'Allow SUBSCRIBE and PUBLISH on quorate:push:*, and a second connection for each client.',
    });
  }
  return found;
}

function ofScripts(failure: Error): Remark {
  if (/\bSELECT\b|DB index/.test(failure.message)) {
    return {
      code: 'DATABASE',
      severity: 'error',
      text: `The server refuses the client's database: ${failure.message}.`,
      threshold: 'any',
      remedy: 'Give the user +select, or use a database that the server has (its `databases` setting).',
    };
  }
  return {
    code: 'RIGHTS',
    severity: 'error',
    text: `The server runs no scripts for this user: ${failure.message}.`,
    threshold: 'any',
    remedy: isPermanent(failure) ? 'Give the user the rights below.' : 'Check the server’s log.',
  };
}

function ofThreads({ settings, tripsMs }: Facts): readonly Remark[] {
  const threads = Number(settings.get('io-threads') ?? 1);
  const slowMs = percentile(tripsMs, 0.99) ?? 0;
  if (threads <= 1 || slowMs <= LATE_MS) return [];
  return [
    {
      code: 'IO_THREADS',
      severity: 'warning',
      text: `The server has ${threads} I/O threads, and one answer in a hundred takes ${shownMs(slowMs)} or more.`,
      threshold: `more than one thread, and a p99 above ${LATE_MS} ms`,
      remedy: 'Set io-threads to 1, or to no more than the number of idle cores.',
    },
  ];
}

function ofConnections({ info }: Facts): readonly Remark[] {
  const [used, most] = [info?.number('connected_clients'), info?.number('maxclients')];
  if (used === undefined || most === undefined || most - used >= Math.max(most / 10, OF_AN_INSTANCE))
    return [];
  const isFull = most - used < OF_AN_INSTANCE;
  return [
    {
      code: 'CONNECTIONS',
      severity: isFull ? 'error' : 'warning',
      text: `${used} of ${most} connections are taken; each instance needs two.`,
      threshold: 'fewer than a tenth left; fewer than two: error',
      remedy: 'Raise maxclients (and the limit of open files), or let processes share an instance.',
    },
  ];
}

function ofTheUntold({ untold }: Facts): readonly Remark[] {
  const what: Readonly<Record<string, string>> = {
    INFO: 'its version, its role, its memory, its persistence and its connections are not known',
    'CONFIG GET': 'appendfsync and io-threads are not known',
    TIME: 'its clock is not known',
  };
  return [...untold].map((question) => ({
    code: 'NOT_KNOWN',
    severity: 'note',
    text: `The server does not answer ${question}: ${what[question] ?? 'something is not known'}.`,
    threshold: 'any',
    remedy: 'Give the user that right, or run the doctor as another user once.',
  }));
}

/** As `3 replicas`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

/** As `0.4 ms`, `12 ms`. */
export function shownMs(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}
