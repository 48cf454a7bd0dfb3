/** `quorate dashboard`: a page that shows the locks, until Ctrl-C. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Arguments } from '../arguments.js';
import { EXIT, Failure, misuse } from '../failure.js';
import { loadDashboard } from '../library.js';
import { connect, settingsOf } from '../settings.js';
import { print } from '../terminal.js';
import { untilInterrupted } from '../until-interrupted.js';

const HOST = '127.0.0.1';
const LOCAL = [HOST, 'localhost', '::1'];
const PORT = 7_180;
const LAST_PORT = 65_535;

export async function dashboard(args: Arguments): Promise<number> {
  args.noOperands();
  const host = args.text('host') ?? HOST;
  const port = args.count('port', 0, LAST_PORT) ?? PORT;
  const token = args.text('token') ?? (process.env['QUORATE_DASHBOARD_TOKEN'] || undefined);
  if (!LOCAL.includes(host) && token === undefined)
    throw misuse(
      `--host ${host} lets other machines in, so a token is needed: set QUORATE_DASHBOARD_TOKEN`,
      args.command,
    );
  const connection = connect(settingsOf(args));
  try {
    const { dashboard: pageOver } = await loadDashboard();
    const page = pageOver(connection.redlock, {
      readOnly: args.has('read-only'),
      ...{ token, names: args.text('names') },
    });
    const server = createServer(page);
    try {
      const actual = await listening(server, host, port);
      print(`http://${host.includes(':') ? `[${host}]` : host}:${actual}/`);
      await untilInterrupted(Infinity, () => Promise.resolve());
    } finally {
      page.close();
      server.close();
      server.closeAllConnections();
    }
    return EXIT.done;
  } finally {
    await connection.close();
  }
}

/** @returns the port @throws Failure */
async function listening(server: Server, host: string, port: number): Promise<number> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Failure(`cannot listen: ${why}; --port takes another port`, EXIT.system);
  }
  return (server.address() as AddressInfo).port; // it listens on a port
}
