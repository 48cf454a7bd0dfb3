/**
 * The scan of one master, over and over, some steps at a time. Of a Redis Cluster, it goes from server to server: a script runs
 * where its key is, and scans what is there, so the scan needs a key in a slot of each server.
 */
import type { Command } from '../redis/transport.js';
import { readScan, readSlots, type ScanStep, scanStep, type SlotRange, slotsCommand } from './reading.js';

/** How many steps of SCAN one round makes, at most: 5,000 keys. */
const MOST_STEPS = 10;
/** How many slots a Redis Cluster has. */
const SLOTS = 16_384;
/** How many keys are tried to find one for each server. */
const MOST_TRIED = 50_000;

/** What a scan has found. */
export interface Scanned extends Omit<ScanStep, 'cursor'> {
  /** Whether it has come to its end. */
  readonly isOver: boolean;
}

interface Place {
  readonly isCluster: boolean;
  /** What the client itself puts before keys. */
  readonly clientPrefix: string;
  readonly keyPrefix: string;
}

export class Scan {
  readonly #place: Place;
  /** Undefined without an answer. */
  readonly #ask: (command: Command) => Promise<unknown>;
  #cursor = '0';
  /** A key of each server that is still to come, that of the present one first; undefined where there is one server. */
  #servers: (string | undefined)[] = [];
  /** Whether a server of this turn gave no answer. */
  #hasGap = false;

  constructor(place: Place, ask: (command: Command) => Promise<unknown>) {
    this.#place = place;
    this.#ask = ask;
  }

  /** Goes on until a server gives no answer: then another one of a cluster is next. */
  async goOn(): Promise<Scanned> {
    const [names, clients]: [string[], string[]] = [[], []];
    const { clientPrefix, isCluster, keyPrefix } = this.#place;
    for (let step = 0; step < MOST_STEPS; step++) {
      if (this.#servers.length === 0) this.#servers = isCluster ? await this.#serversNow() : [undefined];
      const [server] = this.#servers;
      if (this.#servers.length === 0) break;
      const found = readScan(await this.#ask(scanStep(this.#cursor, clientPrefix, keyPrefix, server)));
      if (found === undefined) {
        if (isCluster) this.#leaveServer(true);
        break;
      }
      names.push(...found.names);
      clients.push(...found.clients);
      this.#cursor = found.cursor;
      if (found.cursor === '0') this.#leaveServer(false);
      if (this.#servers.length === 0) return { names, clients, isOver: !this.#hasGap };
    }
    return { names, clients, isOver: false };
  }

  async #serversNow(): Promise<string[]> {
    this.#hasGap = false;
    return keysOf(readSlots(await this.#ask(slotsCommand())));
  }

  #leaveServer(isGap: boolean): void {
    this.#servers.shift();
    this.#cursor = '0';
    this.#hasGap ||= isGap;
  }
}

/** A key for each server that has slots. */
function keysOf(ranges: readonly SlotRange[]): string[] {
  const owners = new Set(ranges.map(({ owner }) => owner));
  const keys = new Map<string, string>();
  for (let i = 0; i < MOST_TRIED && keys.size < owners.size; i++) {
    const slot = slotOf(String(i));
    const owner = ranges.find(({ first, last }) => first <= slot && slot <= last)?.owner;
    if (owner !== undefined && !keys.has(owner)) keys.set(owner, `{${i}}`);
  }
  return [...keys.values()];
}

/** The slot of a hash tag: CRC-16/XMODEM, as the specification of Redis Cluster has it. */
export function slotOf(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc % SLOTS;
}
