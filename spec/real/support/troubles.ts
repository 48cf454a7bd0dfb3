/**
 * The bad states of a server, one row each: how it gets there and out again, and what a user is told who needs it.
 */
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HOST } from '../../../scripts/masters/wait.js';
import { eventually } from '../../support/real.js';
import type { Fleet, Patient } from './fleet.js';

export type Code = 'MISCONFIGURED' | 'NO_QUORUM';

/** How callers hold their locks: with counters, without, and with counters and a restart guard. */
export type Mode = 'fenced' | 'plain' | 'guarded';

export interface Trouble {
  readonly name: string;
  /** How clients connect. @default 'plain' */
  readonly via?: 'plain' | 'tls' | 'password' | 'database';
  /** Brings a server into the state; the returned function brings it back out. */
  begin(patient: Patient, certificates: Fleet['certificates']): Promise<() => Promise<void> | void>;
  /** What `acquire` fails with when the state costs the quorum; undefined: the state costs nothing. */
  acquire(mode: Mode): Told | undefined;
  /** The same for `extend`. @default acquire */
  extend?(mode: Mode): Told | undefined;
  /** The client goes on showing the old reason until it dials again. */
  readonly isSticky?: boolean;
}

export interface Told {
  readonly code: Code;
  /** The cause as the tally and the text show it, for each node that is in the state. */
  readonly cause: RegExp;
}

/** What the clients of `via: 'password'` say. */
export const PASSWORD = 'the-password-of-clients';

const misconfigured = (cause: RegExp) => (): Told => ({ code: 'MISCONFIGURED', cause });
const noQuorum = (cause: RegExp) => (): Told => ({ code: 'NO_QUORUM', cause });
const nothing = (): undefined => undefined;
/** Only where scripts are what claims: a plain claim is a SET. */
const unlessPlain =
  (told: () => Told) =>
  (mode: Mode): Told | undefined =>
    mode === 'plain' ? undefined : told();

/** Settings of the server for the time being. */
async function configure(
  { hand }: Patient,
  settings: Readonly<Record<string, string>>,
): Promise<() => Promise<void>> {
  const names = Object.keys(settings);
  const before: string[] = [];
  for (const name of names) before.push(...(await hand.config('GET', name)));
  await hand.call('CONFIG', 'SET', ...names.flatMap((name) => [name, settings[name] ?? '']));
  return async () => void (await hand.call('CONFIG', 'SET', ...before));
}

/** Takes rights from the user that clients are by default, and gives them back. */
function rights(taken: string, given: string): Trouble['begin'] {
  return async ({ hand }) => {
    await hand.call('ACL', 'SETUSER', 'default', ...taken.split(' '));
    return async () => void (await hand.call('ACL', 'SETUSER', 'default', ...given.split(' ')));
  };
}

/** Clients that are there are cut off and have to log in anew. */
async function lockOut(patient: Patient): Promise<() => Promise<void>> {
  await patient.hand.call('ACL', 'SETUSER', 'default', 'resetpass', '>another-password');
  await cutClients(patient);
  return async () => void (await patient.hand.call('ACL', 'SETUSER', 'default', 'nopass'));
}

async function cutClients({ hand }: Patient): Promise<void> {
  await hand.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
}

/** Something that is no Redis answers at the address. */
async function httpInstead(patient: Patient): Promise<() => void> {
  const server = createHttpServer((_request, response) => response.end('hello'));
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
  patient.reroute((server.address() as AddressInfo).port); // it listens on TCP
  return () => {
    patient.reroute();
    server.close();
    server.closeAllConnections();
  };
}

/** So many keys, at 2 ms each, that loading takes a minute unless it is hurried. */
function fill(command: string, ...values: readonly string[]): string {
  const args = ["'quorate:load:' .. i", ...values].join();
  return `for i = 1, 30000 do redis.call('${command}', ${args}) end`;
}

export const TROUBLES: readonly Trouble[] = [
  {
    name: 'SCRIPT FLUSH',
    async begin({ hand }) {
      await hand.script('FLUSH');
      return () => undefined;
    },
    acquire: nothing,
  },
  {
    name: 'a user without channels and PUBLISH',
    begin: rights('resetchannels -publish', 'allchannels +publish'),
    acquire: nothing,
  },
  {
    name: 'maxmemory reached',
    begin: (patient) => configure(patient, { maxmemory: '1' }),
    acquire: misconfigured(/OOM/),
    extend: nothing, // another expiry needs no memory
  },
  {
    name: 'the last save failed',
    async begin(patient) {
      const restore = await configure(patient, { save: '3600 1', dir: '/proc' });
      await patient.hand.bgsave();
      await saved(patient, 'err');
      return async () => {
        await restore();
        await patient.hand.bgsave();
        await saved(patient, 'ok');
      };
    },
    acquire: misconfigured(/MISCONF/),
  },
  {
    name: 'a replica by mistake',
    async begin({ hand }) {
      await hand.replicaof(HOST, 1);
      return async () => void (await hand.replicaof('NO', 'ONE'));
    },
    acquire: misconfigured(/READONLY/),
  },
  {
    name: 'too few replicas',
    begin: (patient) => configure(patient, { 'min-replicas-to-write': '1' }),
    acquire: misconfigured(/NOREPLICAS/),
  },
  {
    name: 'a password that clients have not got',
    begin: lockOut,
    acquire: misconfigured(/not connected: NOAUTH/),
    isSticky: true,
  },
  {
    name: 'a password that is another one than the clients have',
    via: 'password',
    begin: lockOut,
    acquire: misconfigured(/not connected: WRONGPASS/),
    isSticky: true,
  },
  {
    name: 'a user without scripts',
    begin: rights('-@scripting', '+@scripting'),
    acquire: unlessPlain(misconfigured(/NOPERM.*'evalsha'/)),
    extend: misconfigured(/NOPERM.*'evalsha'/),
  },
  {
    name: 'a user without EVALSHA',
    begin: rights('-evalsha', '+evalsha'),
    acquire: unlessPlain(misconfigured(/NOPERM.*'evalsha'/)),
    extend: misconfigured(/NOPERM.*'evalsha'/),
  },
  {
    name: 'a user without SET',
    begin: rights('-set', '+set'),
    acquire: misconfigured(/NOPERM.* to run (?:the 'set' command|SET,|a command,)/),
    extend: nothing, // a key that is there is given another expiry
  },
  {
    name: 'a user without PEXPIRE',
    begin: rights('-pexpire', '+pexpire'),
    acquire: nothing,
    extend: misconfigured(/NOPERM no right to run (?:PEXPIRE|a command),/),
  },
  {
    name: 'a user without SELECT, in database 3',
    via: 'database',
    begin: rights('-select', '+select'),
    acquire: misconfigured(/NOPERM no right to run SELECT, which database 3 needs \(\+select\)/),
  },
  {
    name: "a user without quorate's own keys",
    begin: rights('resetkeys ~r*', 'allkeys'),
    acquire: unlessPlain(misconfigured(/NOPERM no rights on the keys: the resources, and quorate:\*/)),
    extend: misconfigured(/NOPERM no rights on the keys: the resources, and quorate:\*/),
  },
  {
    name: 'loading',
    async begin(patient) {
      const { hand } = patient;
      await hand.eval(fill('SET', 'i'), 0);
      const restore = await configure(patient, {
        'key-load-delay': '2000',
        'loading-process-events-interval-bytes': '1024',
      });
      patient.aside((redis) => redis.call('DEBUG', 'RELOAD'));
      await eventually(async () => /^loading:1/m.test(await hand.info('persistence')));
      return async () => {
        await restore();
        await eventually(async () => /^loading:0/m.test(await hand.info('persistence')));
        await hand.eval(fill('DEL'), 0);
      };
    },
    acquire: noQuorum(/LOADING/),
  },
  {
    name: 'a script that never ends',
    async begin(patient) {
      const restore = await configure(patient, { 'busy-reply-threshold': '1' });
      patient.aside((redis) => redis.eval('while true do end', 0));
      await eventually(async () => (await pinged(patient)).startsWith('BUSY'));
      return async () => {
        await patient.hand.script('KILL');
        await eventually(async () => (await pinged(patient)) === 'PONG');
        await restore();
      };
    },
    acquire: noQuorum(/BUSY/),
  },
  {
    name: 'too many clients',
    async begin(patient) {
      const restore = await configure(patient, { maxclients: '1' });
      await cutClients(patient);
      return restore;
    },
    acquire: noQuorum(/not connected/),
  },
  {
    name: 'a server that is no Redis',
    begin: httpInstead,
    acquire: noQuorum(/not connected: the server there/),
  },
  {
    name: 'a plain client to a TLS port',
    begin(patient) {
      patient.reroute(patient.tlsPort);
      return Promise.resolve(() => patient.reroute());
    },
    acquire: noQuorum(/not connected: the server hung up before any answer.*rediss/),
  },
  {
    name: 'TLS with a certificate that is not trusted',
    via: 'tls',
    async begin(patient, { other }) {
      const restore = await configure(patient, {
        'tls-cert-file': other.certFile,
        'tls-key-file': other.keyFile,
      });
      patient.reroute(patient.tlsPort);
      return async () => {
        await restore();
        patient.reroute(patient.tlsPort);
      };
    },
    acquire: noQuorum(/not connected.*self-signed/),
  },
  {
    name: 'a TLS client to a plain port',
    via: 'tls',
    begin(patient) {
      patient.reroute();
      return Promise.resolve(() => patient.reroute(patient.tlsPort));
    },
    acquire: noQuorum(/not connected: no answer to the TLS handshake.*redis:/),
  },
];

function pinged({ hand }: Patient): Promise<string> {
  return hand.ping().catch((error: Error) => error.message);
}

/** Waits until the last save ended so. */
async function saved({ hand }: Patient, how: 'ok' | 'err'): Promise<void> {
  await eventually(async () => {
    const info = await hand.info('persistence');
    return info.includes('rdb_bgsave_in_progress:0') && info.includes(`rdb_last_bgsave_status:${how}`);
  });
}
