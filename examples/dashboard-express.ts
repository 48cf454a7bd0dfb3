/**
 * The dashboard in an Express application, behind the application's own middleware: `authorize` lets in whom that has found, and
 * the log has the name.
 *
 *   node --import tsx examples/dashboard-express.ts
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { dashboard } from '../lib/dashboard/index.js'; // you write: from 'quorate/dashboard'
import { Redlock } from '../lib/index.js'; // you write: from 'quorate'
import { look } from './shared/look.js';
import { exampleMasters, keyPrefix } from './shared/masters.js';

await using masters = await exampleMasters();
await using redlock = Redlock.connect(masters.urls, { keyPrefix });
await redlock.ready({ allWithinMs: 5_000 });

/** What stands for a login. */
const USERS = new WeakMap<object, string>();
const page = dashboard(redlock, {
  authorize: (request) => USERS.get(request),
  log: (line) => console.log(line),
});

const app = express();
app.use(express.json());
app.use((request, _response, next) => {
  if (request.get('x-user') === 'ada') USERS.set(request, 'ada');
  next();
});
app.use('/locks', page);
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;

await look(redlock, `http://localhost:${port}/locks`, { 'x-user': 'ada' });

page.close();
server.close();
server.closeAllConnections();
