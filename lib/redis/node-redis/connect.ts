/** Connections of our own by node-redis, set up as a lock needs them: no offline queue, and none that is silent for long. */
import { SystemTimers, type Timer } from '../../runtime/clock.js';
import { invalidArgument, withoutPassword } from '../../runtime/errors.js';
import type { Opened } from '../connect.js';
import { nodeRedis } from '../loading.js';
import { checkMaster, type Master } from '../masters.js';
import { CONNECT_TIMEOUT_MS, reconnectMs, SILENCE_MS } from '../waits.js';
import { type Endable, Ending } from './ending.js';
import type { NodeRedisClient } from './transport.js';

/** The parts of a client that are needed to open and to replace its connection. */
interface Openable extends Omit<NodeRedisClient, 'on' | 'sendCommand'>, Omit<Endable, 'on'> {
  connect(): Promise<unknown>;
  on(event: string, listener: (error: Error) => void): unknown;
  sendCommand(command: readonly string[]): Promise<unknown>;
}

/** The parts of a client's options that are merged with ours. */
interface Settings {
  readonly url?: string;
  readonly name?: string;
  readonly socket?: object;
}

/** Opens a client for each master. A master's own options win, except where a lock relies on a setting. */
export function openNodeRedis(masters: readonly Master[]): Opened {
  const settings = masters.map((master, i) => settingsOf(master, `masters[${i}]`));
  const owned: OwnClient[] = [];
  const disconnect = (): void => {
    for (const one of owned) one.close();
  };
  try {
    for (const [i, given] of settings.entries()) owned.push(new OwnClient(given, `masters[${i}]`));
  } catch (error) {
    disconnect();
    throw error;
  }
  return { clients: owned.map(({ client }) => client as unknown as NodeRedisClient), disconnect };
}

/** A client of ours. Its connection is replaced if a message cannot be read, or if it is silent. */
class OwnClient {
  readonly client: Openable;
  readonly #ending: Ending;
  readonly #timers = new SystemTimers();
  #look: Timer;
  #isAsked = false;

  constructor(settings: Settings, place: string) {
    const socket = {
      connectTimeout: CONNECT_TIMEOUT_MS,
      ...settings.socket,
      reconnectStrategy: (failures: number) => (this.#ending.isEnded ? false : reconnectMs(failures)),
    };
    const client = created({ ...settings, disableOfflineQueue: true, socket }, place);
    this.client = client;
    this.#ending = new Ending(client);
    const { ErrorReply } = nodeRedis();
    client.on('error', (error) => {
      // A message could not be read: the next answer would be taken for the one to an earlier command.
      if (client.isReady === true && !(error instanceof ErrorReply)) this.#replace();
    });
    if (settings.name === undefined) client.on('ready', () => this.#name());
    client.connect().catch(ignore); // tallies name the cause
    this.#look = this.#lookLater();
  }

  /** By node-redis itself, a user who may not give a name could not connect. */
  #name(): void {
    this.client.sendCommand(['CLIENT', 'SETNAME', 'quorate']).catch(ignore);
  }

  close(): void {
    this.#look.cancel();
    this.#ending.end();
  }

  #lookLater(): Timer {
    return this.#timers.background(SILENCE_MS, () => {
      if (this.client.isReady === true) this.#ask();
      this.#look = this.#lookLater();
    });
  }

  /** A cut network shows only by its silence. */
  #ask(): void {
    if (this.#isAsked) return this.#replace();
    this.#isAsked = true;
    const answered = (): void => void (this.#isAsked = false);
    this.client.sendCommand(['PING']).then(answered, answered);
  }

  #replace(): void {
    if (this.#ending.isEnded) return;
    this.client.destroy();
    this.client.connect().catch(ignore);
  }
}

/** What node-redis says of options that it refuses may show a password. */
function created(settings: Settings & { readonly disableOfflineQueue: true }, place: string): Openable {
  try {
    return nodeRedis().createClient(settings);
  } catch {
    const given = settings.url === undefined ? settings : withoutPassword(settings.url);
    throw invalidArgument(place, given, 'a URL or options that node-redis takes');
  }
}

function settingsOf(master: Master, place: string): Settings {
  checkMaster(master, place);
  if (typeof master !== 'string') {
    if ('url' in master && typeof master.url === 'string') checkDatabase(master.url, place);
    return master;
  }
  if (master.startsWith('/')) return { socket: { path: master } };
  checkDatabase(master, place);
  return { url: master };
}

function checkDatabase(url: string, place: string): void {
  if (URL.canParse(url) && /^\/?\d*$/.test(new URL(url).pathname)) return;
  const wanted = 'a master whose database is a whole number from 0 on';
  throw invalidArgument(place, withoutPassword(url), wanted);
}

function ignore(): void {}
