/** What is found about a master's data: eviction, memory, persistence. Pure. */
import type { Facts } from './examination.js';
import type { Remark, Subject } from './finding.js';
import type { ServerInfo } from './server-info.js';

/** How much of its memory a server should have left. */
const HEADROOM = 0.1;

export function findInData({ failure, info, settings }: Facts, subject: Subject): readonly Remark[] {
  if (failure !== undefined || info === undefined) return [];
  const isGuarded = subject.restartGuardMs > 0;
  return [
    ...ofEviction(info),
    ...ofMemory(info),
    ...ofPersistence(info, isGuarded),
    ...ofWrites(info),
    ...ofFlushes(settings, info, isGuarded),
  ];
}

function ofEviction(info: ServerInfo): readonly Remark[] {
  const policy = info.text('maxmemory_policy');
  if (policy === undefined || policy === 'noeviction') return [];
  const isLimited = (info.number('maxmemory') ?? 0) > 0;
  const when = isLimited ? 'once its memory is full' : 'as soon as somebody sets maxmemory';
  return [
    {
      code: 'EVICTION',
      severity: isLimited ? 'error' : 'warning',
      text: `maxmemory-policy is ${policy}: the server evicts held locks and fencing counters ${when}.`,
      threshold: 'any policy but noeviction; with a maxmemory: error',
      remedy: 'CONFIG SET maxmemory-policy noeviction, and the same in the configuration file.',
    },
  ];
}

function ofMemory(info: ServerInfo): readonly Remark[] {
  const used = info.number('used_memory');
  const limit = info.number('maxmemory') || info.number('total_system_memory');
  if (used === undefined || limit === undefined || limit === 0 || limit - used >= limit * HEADROOM) return [];
  const isFull = used >= limit;
  return [
    {
      code: 'MEMORY',
      severity: isFull ? 'error' : 'warning',
      text: `The server uses ${megabytes(used)} of ${megabytes(limit)}; without memory it refuses claims (OOM).`,
      threshold: 'less than a tenth left; nothing left: error',
      remedy: 'Raise maxmemory, or keep other data on other servers.',
    },
  ];
}

function ofPersistence(info: ServerInfo, isGuarded: boolean): readonly Remark[] {
  if (info.text('aof_enabled') !== '0') return [];
  const guarded =
    'The server keeps no append-only file: after a restart it abstains, as the restart guard requires.';
  const bare =
    'The server keeps no append-only file: after a restart it has forgotten its votes, and votes again at once.';
  return [
    {
      code: 'NO_PERSISTENCE',
      severity: isGuarded ? 'note' : 'warning',
      text: isGuarded ? guarded : bare,
      threshold: 'appendonly no; with a restart guard: note',
      remedy:
        'Set appendonly yes and appendfsync always, or switch the restart guard on, or keep a restarted master away for the longest ttl.',
    },
  ];
}

function ofWrites(info: ServerInfo): readonly Remark[] {
  const failing = ['aof_last_write_status', 'rdb_last_bgsave_status'].find(
    (name) => info.text(name) === 'err',
  );
  if (failing === undefined) return [];
  return [
    {
      code: 'WRITES_REFUSED',
      severity: 'error',
      text: `The server could not write to its disk (${failing}), and refuses claims (MISCONF).`,
      threshold: 'any',
      remedy: 'Make room on the disk, or correct its rights; the server’s log names the error.',
    },
  ];
}

function ofFlushes(settings: Facts['settings'], info: ServerInfo, isGuarded: boolean): readonly Remark[] {
  if (info.text('aof_enabled') !== '1') return [];
  const policy = settings.get('appendfsync');
  const isPutOff = settings.get('no-appendfsync-on-rewrite') === 'yes';
  if (policy === undefined || (policy === 'always' && !isPutOff)) return [];
  const what =
    policy === 'always'
      ? 'no-appendfsync-on-rewrite is yes: while the file is being rewritten'
      : `appendfsync is ${policy}:`;
  const lost = policy === 'no' ? 'what the system had not written' : 'the votes of the last second';
  return [
    {
      code: 'APPENDFSYNC',
      severity: isGuarded ? 'note' : 'warning',
      text: `${what} a power cut loses ${lost}.`,
      threshold: 'anything but always; with a restart guard: note',
      remedy: 'Set appendfsync always and no-appendfsync-on-rewrite no, or switch the restart guard on.',
    },
  ];
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
