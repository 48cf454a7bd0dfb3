/** Waiting for a server without a client library: one question on a connection of its own, asked until a deadline. */
import { createServer, connect } from 'node:net';
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
const SHARES = 6;
const PORTS = 2_000;
/** What was given out here: one that is free now may be that of a master that is dead for a while. */
const given = new Set<number>();

/**
 * A port that is free now, and is given out once. Below the range that systems use for outgoing connections: a client that
 * dials a dead port of that range can connect to itself. Spec files that run at the same time draw from shares of their own:
 * a master that is dead for a while must find its port free again.
 */
export async function freePort(): Promise<number> {
  const share = Number(process.env['MOCHA_WORKER_ID'] ?? 0) % SHARES;
  const first = FIRST_PORT + share * PORTS;
  if (given.size > PORTS / 2) given.clear();
  for (let tries = 0; tries < 100; tries++) {
    const port = first + Math.floor(Math.random() * PORTS);
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free loopback port between ${first} and ${first + PORTS}`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ host: HOST, port, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
