/** Waiting for a server without a client library: one question on a connection of its own, asked until a deadline. */
import { createServer, connect, type Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export const HOST = '127.0.0.1';
const ASK_EVERY_MS = 5;

/** Sends one inline command; resolves to the raw reply, rejects when refused, closed or silent. */
export function ask(port: number, command: string, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: HOST, port });
    let reply = '';
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    socket.setEncoding('latin1').setTimeout(timeoutMs);
    socket.on('connect', () => socket.write(`${command}\r\n`));
    socket.on('data', (chunk: string) => {
      reply += chunk;
      if (!isComplete(reply)) return;
      socket.destroy();
      resolve(reply);
    });
    socket.on('timeout', () => fail(new Error(`no answer within ${timeoutMs} ms`)));
    socket.on('error', fail);
    socket.on('close', () => reject(new Error('connection closed')));
  });
}

function isComplete(reply: string): boolean {
  const end = reply.indexOf('\r\n');
  if (end < 0) return false;
  const bulkLength = reply.startsWith('$') ? Number(reply.slice(1, end)) : -1; // -1 is also the length of nil
  return bulkLength < 0 || reply.length >= end + 2 + bulkLength + 2;
}

/** True when a server answers: a server that wants a password is up as well. */
export async function answersPing(port: number, timeoutMs: number): Promise<boolean> {
  try {
    return /^(\+PONG|-NOAUTH|-NOPERM)/.test(await ask(port, 'PING', timeoutMs));
  } catch {
    return false;
  }
}

/** Asks again until `check` says yes; throws after `timeoutMs`, naming what was waited for. */
export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await pause(ASK_EVERY_MS);
  }
}

const FIRST_PORT = 20_000;
const BLOCK_PORTS = 300;
const BLOCKS = 40;
interface Ports {
  block?: Promise<number>;
  /** What was given out: one that is free now may be that of a master that is dead for a while. */
  readonly given: Set<number>;
}

const PORTS: unique symbol = Symbol.for('quorate.ports');
/** Of this process, however often this file is loaded in it: for each mutant anew, say. */
const ports = ((globalThis as { [PORTS]?: Ports })[PORTS] ??= { given: new Set() });

/**
 * A port that is free now, and is given out once. Below the range that systems use for outgoing connections: a client that
 * dials a dead port of that range can connect to itself. Each process draws from a block of its own: a master that is dead
 * for a while must find its port free again, and a container takes seconds to bind what was free.
 */
export async function freePort(): Promise<number> {
  ports.block ??= ownBlock();
  const { given } = ports;
  const first = await ports.block;
  if (given.size > BLOCK_PORTS / 2) given.clear();
  for (let tries = 0; tries < 100; tries++) {
    const port = first + 1 + Math.floor(Math.random() * (BLOCK_PORTS - 1));
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free loopback port between ${first} and ${first + BLOCK_PORTS}`);
}

/** The first port of a block that no other process has: a process listens on its block's first port until it ends, or is killed. */
async function ownBlock(): Promise<number> {
  const start = Math.floor(Math.random() * BLOCKS);
  for (let i = 0; i < BLOCKS; i++) {
    const first = FIRST_PORT + ((start + i) % BLOCKS) * BLOCK_PORTS;
    if (await listens(createServer().unref(), first)) return first;
  }
  const end = FIRST_PORT + BLOCKS * BLOCK_PORTS;
  throw new Error(`each of the ${BLOCKS} blocks of ports from ${FIRST_PORT} to ${end} is another process's`);
}

export async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  if (!(await listens(probe, port))) return false;
  await new Promise((resolve) => probe.close(resolve));
  return true;
}

function listens(server: Server, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ host: HOST, port, exclusive: true }, () => resolve(true));
  });
}
