/**
 * The dashboard on a server of node:http. It lets in requests from this machine only. A lock is taken, found in the JSON, and freed
 * by whoever looks.
 *
 *   node --import tsx examples/dashboard.ts
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dashboard } from '../lib/dashboard/index.js'; // you write: from 'quorate/dashboard'
import { Redlock } from '../lib/index.js'; // you write: from 'quorate'
import { look } from './shared/look.js';
import { exampleMasters, keyPrefix } from './shared/masters.js';

await using masters = await exampleMasters();
await using redlock = Redlock.connect(masters.urls, { keyPrefix });
await redlock.ready({ allWithinMs: 5_000 });

const page = dashboard(redlock, { log: (line) => console.log(line) });
const server = createServer(page).listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;

await look(redlock, `http://localhost:${port}`);

page.close();
server.close();
server.closeAllConnections();
