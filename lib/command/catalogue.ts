/** The commands and their flags: the source of the parser, the help, the man page and the completion. */

/** A flag, as `--wait 10s`. */
export interface Flag {
  readonly name: string;
  /** The placeholder for its value; undefined for a switch. */
  readonly value?: string;
  /** It may be repeated. */
  readonly isRepeated?: boolean;
  readonly text: string;
}

/** One command. */
export interface CommandEntry {
  readonly name: string;
  /** What follows its flags. */
  readonly operands: string;
  readonly summary: string;
  /** Paragraphs for its help and the man page. */
  readonly details: readonly string[];
  readonly flags: readonly Flag[];
}

const MASTERS: readonly Flag[] = [
  {
    name: 'node',
    value: 'URL',
    isRepeated: true,
    text: 'a master, as redis://user:password@host:6379/0; once for each. Other users see it in ps',
  },
  { name: 'config', value: 'FILE', text: 'a JSON file with masters and options' },
  { name: 'key-prefix', value: 'TEXT', text: 'the prefix of each name in the masters’ keys' },
];
const JSON_FLAG: Flag = { name: 'json', text: 'print JSON' };
const TTL: Flag = {
  name: 'ttl',
  value: 'TIME',
  text: 'how long the lock outlives a dead holder; a live one renews it (30s)',
};
const KILL_AFTER: Flag = {
  name: 'kill-after',
  value: 'TIME',
  text: 'the time from TERM to KILL when the lock cannot be kept; at most a third of the ttl (5s)',
};

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'run',
    operands: 'NAME -- COMMAND [ARGUMENT]...',
    summary: 'hold a lock while a command runs',
    details: [
      'Waits for the lock NAME, runs COMMAND while the lock is held and renewed, and releases it. Input, output and signals pass through. The environment of COMMAND has QUORATE_RESOURCE and QUORATE_FENCE, but not QUORATE_NODES. The exit code is that of COMMAND, or 128 plus the number of the signal that ended it. While it waits on a terminal, it shows who holds the lock and how many wait ahead.',
      'When the lock cannot be kept, the whole process group of COMMAND gets TERM, --kill-after before the lock’s validity ends, and KILL just before that end; the exit code is 70. A watchdog process sends both if quorate itself is killed or stopped.',
    ],
    flags: [
      { name: 'wait', value: 'TIME', text: 'how long to wait for the lock, or “forever” (10s)' },
      { name: 'no-wait', text: 'make one attempt, without waiting' },
      TTL,
      KILL_AFTER,
      { name: 'shared', text: 'lock as one of several readers of a read-write lock' },
      { name: 'permits', value: 'N/K', text: 'take N of the K permits of a semaphore' },
      { name: 'conflict-exit-code', value: 'N', text: 'the exit code if others hold the lock (75)' },
      ...MASTERS,
    ],
  },
  {
    name: 'elect',
    operands: 'NAME -- COMMAND [ARGUMENT]...',
    summary: 'run a command while this machine leads',
    details: [
      'Waits in the queue until it leads among all candidates for NAME, and runs COMMAND while it leads, as quorate run does. If COMMAND ends by itself, quorate resigns and exits with the same code. If the leadership is lost, quorate ends COMMAND and is a candidate again.',
    ],
    flags: [
      {
        name: 'value',
        value: 'TEXT',
        text: 'the text that others see of this leader; not a secret (the host’s name)',
      },
      TTL,
      KILL_AFTER,
      ...MASTERS,
    ],
  },
  {
    name: 'cron',
    operands: "NAME 'EXPRESSION' -- COMMAND [ARGUMENT]...",
    summary: 'run a command on a schedule, on one machine at each tick',
    details: [
      'Of several machines with the same NAME and EXPRESSION, one runs COMMAND at each tick, by the masters’ time. EXPRESSION is a cron expression, which needs the package croner, or “every 10s”. The environment of COMMAND has QUORATE_SCHEDULED_AT, and the variables that quorate run sets; its input is empty. On INT or TERM, quorate passes the signal on, waits for COMMAND and exits with 0.',
    ],
    flags: [
      {
        name: 'time-zone',
        value: 'ZONE',
        text: 'the time zone of the expression, such as Europe/Berlin; the same everywhere (UTC)',
      },
      { name: 'at-most', value: 'TIME', text: 'how long one run may hold the lock' },
      { name: 'at-least', value: 'TIME', text: 'the least time from the beginning of one run to the next' },
      { name: 'missed', value: 'skip|once|all', text: 'what to do about ticks that nobody ran (skip)' },
      { name: 'overlap', value: 'skip|queue', text: 'what to do about a tick during a run (skip)' },
      { name: 'jitter', value: 'TIME', text: 'wait for a random part of this after each tick (0s)' },
      { name: 'quiet', text: 'print nothing about successful runs' },
      TTL,
      KILL_AFTER,
      ...MASTERS,
    ],
  },
  {
    name: 'status',
    operands: '[NAME]',
    summary: 'show who holds a lock, master by master',
    details: [
      'Shows the holder of NAME by its label and a fingerprint, since when it holds the lock, its note, the time left, who waits, and the last fencing token. Without NAME, it shows the masters; with --names, the locks whose names match a pattern.',
    ],
    flags: [
      { name: 'watch', text: 'show it again every second, until interrupted' },
      { name: 'names', value: 'PATTERN', text: 'list locks by a glob pattern, found by SCAN in small steps' },
      { name: 'limit', value: 'N', text: 'list at most N locks (1000)' },
      JSON_FLAG,
      ...MASTERS,
    ],
  },
  {
    name: 'unlock',
    operands: 'NAME',
    summary: 'take a lock away from its holder',
    details: [
      'Takes the lock NAME from its holder, and hands it over to the first waiter. The holder is notified first. One that waited for the lock stops at once and confirms that; another one learns of it at its next renewal. Until then, or for the time of --grace, the lock stays taken. What the holder has begun may go on after that: only fencing tokens keep its late writes out. Permits of a semaphore are taken at once. Asks first, unless --force is given.',
    ],
    flags: [
      { name: 'force', text: 'do not ask' },
      {
        name: 'grace',
        value: 'TIME',
        text: 'how long a holder that does not answer keeps the lock (while its lease is valid); 0s: not at all',
      },
      {
        name: 'for',
        value: 'TIME',
        text: 'keep everybody out for this time, and do not hand the lock over',
      },
      JSON_FLAG,
      ...MASTERS,
    ],
  },
  {
    name: 'doctor',
    operands: '',
    summary: 'find what makes masters unfit for locks',
    details: [
      'Asks each master for its version, role, settings and clock, and checks what the user may do. Changes nothing. Prints what it finds, what to do about it, and the smallest rights. The exit code is 0 for no findings or notes, 1 for warnings, 2 for errors.',
    ],
    flags: [
      { name: 'timeout', value: 'TIME', text: 'how long a master may take for its answers (3s)' },
      { name: 'watch-clocks', value: 'TIME', text: 'how long to watch the rate of the clocks (2s)' },
      { name: 'shared', text: 'check the rights for read-write locks and semaphores, too' },
      JSON_FLAG,
      ...MASTERS,
    ],
  },
  {
    name: 'dashboard',
    operands: '',
    summary: 'show the locks on a page, until interrupted',
    details: [
      'Serves a page that shows masters, locks, leaders and jobs as they change, prints its URL, and ends on Ctrl-C. From the page, locks can be taken away, unless --read-only is given; each time is a line on standard error. Every user of this machine can open it, and nobody else. With a token, from other machines too if --host lets them in; the page asks for the token.',
    ],
    flags: [
      { name: 'port', value: 'N', text: 'the port (7180); 0 for any' },
      {
        name: 'host',
        value: 'HOST',
        text: 'the address to listen on; beside localhost only with a token (127.0.0.1)',
      },
      { name: 'read-only', text: 'offer nothing that changes a lock' },
      {
        name: 'token',
        value: 'TEXT',
        text: 'let in whoever has it (QUORATE_DASHBOARD_TOKEN). Other users see the flag in ps',
      },
      { name: 'names', value: 'PATTERN', text: 'show only locks whose names match a glob pattern' },
      ...MASTERS,
    ],
  },
  {
    name: 'up',
    operands: '[N]',
    summary: 'start local masters, until interrupted',
    details: [
      'Starts N redis-server or valkey-server processes (3) on loopback ports, prints QUORATE_NODES for them, and ends them on Ctrl-C. This deletes their data, unless --dir keeps it.',
    ],
    flags: [
      { name: 'port', value: 'N', text: 'the first port; the others follow (6381)' },
      { name: 'dir', value: 'DIR', text: 'keep the data in DIR, in append-only files' },
      {
        name: 'server',
        value: 'PATH',
        text: 'the server to start (QUORATE_REDIS_SERVER, or else the one on the PATH)',
      },
      JSON_FLAG,
    ],
  },
  {
    name: 'bench',
    operands: '',
    summary: 'measure locks on your masters, and on the first of them alone',
    details: [
      'Acquires and releases locks under its own names, one after another and many at a time, on all masters and on the first alone. Prints latencies and rates. Loads the masters for four times --seconds.',
    ],
    flags: [
      { name: 'seconds', value: 'N', text: 'how long each of the four measurements takes (2)' },
      { name: 'clients', value: 'N', text: 'how many locks to hold at a time (32)' },
      JSON_FLAG,
      ...MASTERS,
    ],
  },
  {
    name: 'migrate',
    operands: 'PATH...',
    summary: 'move code from redlock to quorate',
    details: [
      'Rewrites the files of TypeScript and JavaScript that import redlock or @sesamecare-oss/redlock, also below folders. They then import quorate/redlock or quorate/redlock4, which have the same API; with --api, they use quorate’s own API. Rewrites only what it can follow within a file, and prints what it leaves alone and why. Leaves package.json as it is.',
      'It reads code with @babel/parser, which most projects have: npm install --no-save @babel/parser@7. The exit code is 1 if something was left alone.',
    ],
    flags: [
      { name: 'dry-run', text: 'print the changes as a diff, and write nothing' },
      { name: 'api', text: 'rewrite calls and settings to quorate’s own API' },
      {
        name: 'from',
        value: '4|5',
        text: 'the version of redlock (the installed one, or else that in package.json)',
      },
    ],
  },
  {
    name: 'completion',
    operands: 'bash|zsh|fish',
    summary: 'print the completion for a shell',
    details: ['For example: quorate completion bash > /etc/bash_completion.d/quorate'],
    flags: [],
  },
];

/** What every command takes. */
export const HELP: Flag = { name: 'help', text: 'print this help' };

export function entryOf(name: string): CommandEntry | undefined {
  return COMMANDS.find((entry) => entry.name === name);
}
