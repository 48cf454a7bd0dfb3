/**
 * What the dashboard shows, as its JSON has it. Instants are milliseconds of the masters' time since 1970; a holder or a waiter
 * is named by a fingerprint, and never by its token. The page reads the same types, so this imports nothing.
 */

/** An instance of quorate, as far as it is known. */
export interface InstanceShown {
  /** The public part of its tokens. */
  readonly client: string;
  /** Its label, if it has published one. */
  readonly label?: string;
  /** Its host, if it has published it. */
  readonly host?: string;
  /** The number of its process, if it has published it. */
  readonly pid?: number;
}

/** A holder of a lock. */
export interface HolderShown extends InstanceShown {
  /** A fingerprint of its token. */
  readonly holder: string;
  /** Its role. */
  readonly role: 'holder' | 'reader' | 'writer' | 'permits';
  /** The numbers of the permits that it holds, from 0; empty for others. */
  readonly slots: readonly number[];
  /** When that was granted; absent if it is not known. */
  readonly since?: number;
}

/** A waiter for a lock. */
export interface WaiterShown extends InstanceShown {
  /** A fingerprint of its token. */
  readonly waiter: string;
  /** When it took its place, if the master's queue shows that. */
  readonly since: number;
  /** On how many masters it has a place. */
  readonly places: number;
}

/** One master's vote. */
export interface VoteShown {
  /** The master, by host and port. */
  readonly node: string;
  /**
   * `granted`: it is that of a holder with a quorum · `other`: somebody else has it · `free`: nobody has it · `foreign`: the key
   * holds something else · `unknown`: the master gave no answer.
   */
  readonly state: 'granted' | 'other' | 'free' | 'foreign' | 'unknown';
  /** A fingerprint of whoever has it. */
  readonly holder?: string;
  /** When it ends; absent without an end. */
  readonly endsAt?: number;
  /** Why the master gave no answer. */
  readonly cause?: string;
}

/** A lock in the list. */
export interface LockShown {
  /** Its name, without `keyPrefix`. */
  readonly name: string;
  /** The kind of the lock. `other`: another library's. */
  readonly kind: 'mutex' | 'read-write' | 'semaphore' | 'other';
  /** What it is for, if that is known. */
  readonly use: 'lock' | 'election' | 'job';
  /** As `redlock.inspect` reports it. */
  readonly state: 'held' | 'free' | 'contended' | 'unknown';
  /** Those who have a quorum: the first 32. */
  readonly holders: readonly HolderShown[];
  /** How many have a quorum. */
  readonly holding: number;
  /** When that was granted to the one who has held it for longest; absent if it is not known. */
  readonly since?: number;
  /** When its last holder's quorum ends, unless it is renewed; absent without a holder. */
  readonly endsAt?: number;
  /** The last fencing token that a quorum accepted. */
  readonly fence?: number;
  /** How many wait: the highest number of any master. */
  readonly waiting: number;
  /** When the first waiter took its place. */
  readonly waitingSince?: number;
  /** Each master's vote, in the masters' order. */
  readonly votes: readonly VoteShown['state'][];
  /** The holder's note, if it has published one. */
  readonly note?: string;
}

/** A lock whose details are open. */
export interface LockDetails extends LockShown {
  /** Master by master. */
  readonly nodes: readonly VoteShown[];
  /** The first 32 waiters, in the order of the queue. */
  readonly waiters: readonly WaiterShown[];
}

/** A leader. */
export interface LeaderShown {
  /** The election's name. */
  readonly name: string;
  /** What the leader has proclaimed. */
  readonly value: string;
  /** The fencing token of its leadership. */
  readonly fence: number;
  /** When its leadership began. */
  readonly since: number;
  /** The leader; absent if nobody leads now. */
  readonly holder?: HolderShown;
  /** How many candidates wait. */
  readonly candidates: number;
}

/** A tick of a job. */
export interface TickShown {
  /** When it was due. */
  readonly at: number;
  /** `interrupted`: it began, and its runner no longer has the lock. */
  readonly state: 'running' | 'done' | 'interrupted';
  /** When its run began. */
  readonly startedAt: number;
  /** How long its run took, or has taken so far. Milliseconds; absent if that is not known. */
  readonly tookMs?: number;
}

/** A job with a schedule. */
export interface JobShown {
  /** The job's name. */
  readonly name: string;
  /** Its schedule, such as `every 60000` or `cron 0 6 * * * UTC`. */
  readonly schedule: string;
  /** The last ticks that were seen, the latest first. */
  readonly ticks: readonly TickShown[];
  /** When it runs next; absent without a next tick, or without `croner`. */
  readonly next?: number;
  /** The instance that runs it now. */
  readonly runner?: HolderShown;
}

/** What the doctor says of a master. */
export interface FindingShown {
  /** The code: docs/DOCTOR.md explains each. */
  readonly code: string;
  /** How bad it is. */
  readonly severity: 'note' | 'warning' | 'error';
  /** What was found. */
  readonly text: string;
  /** What to do about it. */
  readonly remedy: string;
  /** The masters concerned. */
  readonly nodes: readonly string[];
}

/** A master. */
export interface MasterShown {
  /** The master, by host and port. */
  readonly node: string;
  /** `up`: it answers · `silent`: it is connected and does not answer · `down`: it has no connection. */
  readonly state: 'up' | 'silent' | 'down';
  /** Why it does not answer. */
  readonly cause?: string;
  /** The median of its last round trips. Milliseconds. */
  readonly latencyMs?: number;
  /** How far its clock is ahead of the masters' median, to within a round trip. Milliseconds. */
  readonly clockAheadMs?: number;
  /** The software and its version. */
  readonly server?: string;
  /** How much memory it uses. Bytes. */
  readonly memoryBytes?: number;
  /** How much it may use; absent without a limit. Bytes. */
  readonly memoryLimitBytes?: number;
}

/** The last minute, second by second, the latest last. */
export interface MinuteShown {
  /** The instant of the latest second. */
  readonly at: number;
  /** How many locks were held; null for a second in which nobody looked. */
  readonly held: readonly (number | null)[];
  /** How many waited. */
  readonly waiting: readonly (number | null)[];
  /** What instances that share their counts have done; absent if none does. */
  readonly shared?: {
    /** Leases that were granted in each second. */
    readonly acquired: readonly (number | null)[];
    /** Leases that were lost in each second. */
    readonly lost: readonly (number | null)[];
    /** The longest wait of half of the waits. Milliseconds; null without a wait. */
    readonly waitP50: readonly (number | null)[];
    /** The longest wait of 99 of 100 waits. */
    readonly waitP99: readonly (number | null)[];
  };
}

/** A page of the list of locks. */
export interface LocksShown {
  /** The locks of this page. */
  readonly rows: readonly LockShown[];
  /** The number of the first, from 0. */
  readonly offset: number;
  /** How many match the search. */
  readonly matching: number;
  /** How many are known. */
  readonly known: number;
  /** Whether more may be there than are known: a scan is not over yet, or there are more than the dashboard reads. */
  readonly isPartial: boolean;
}

/** Which actions are offered. */
export interface ActionsShown {
  /** Taking a lock away at once, as `quorate unlock --grace 0s` does. */
  readonly free: boolean;
  /** Taking a lock away when its holder has stopped, or had its time. */
  readonly steal: boolean;
  /** Ending a leadership. */
  readonly depose: boolean;
}

/** Everything at one instant, as `api/snapshot` answers; `api/events` sends the parts that have changed. */
export interface DashboardSnapshot {
  /** The instant. */
  readonly at: number;
  /** The masters. */
  readonly masters: readonly MasterShown[];
  /** The doctor's last findings; absent before the first. */
  readonly findings?: readonly FindingShown[];
  /** A page of locks. */
  readonly locks: LocksShown;
  /** The lock whose details were asked for; null if there is no such lock. */
  readonly lock?: LockDetails | null;
  /** The leaders. */
  readonly leaders: readonly LeaderShown[];
  /** The jobs. */
  readonly jobs: readonly JobShown[];
  /** The last minute. */
  readonly minute: MinuteShown;
  /** Which actions are offered; none of a dashboard that is read-only. */
  readonly actions: ActionsShown;
  /** The prefix of the names in the masters' keys. */
  readonly keyPrefix: string;
}

/** What is done to a lock. */
export type ActionName = 'free' | 'steal' | 'depose';

/** Somebody has taken a lock away, or tried to. */
export interface DashboardAction {
  /** What was done. */
  readonly action: ActionName;
  /** The lock's or the election's name. */
  readonly name: string;
  /** The person: what `authorize` returned, `token`, or `local`. */
  readonly by: string;
  /** The address that it came from, if it is known. */
  readonly from: string | undefined;
  /** Whether it succeeded. */
  readonly done: boolean;
  /** What came of it, in words. */
  readonly outcome: string;
}
