/**
 * The dashboard in a Hono application, which works with `Request` and `Response`. These do not say from where a request comes, so
 * a token lets in.
 *
 *   node --import tsx examples/dashboard-hono.ts
 */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type ServerType, serve } from '@hono/node-server';
import { Hono } from 'hono';
import { dashboard } from '../lib/dashboard/index.js'; // you write: from 'quorate/dashboard'
import { Redlock } from '../lib/index.js'; // you write: from 'quorate'
import { look } from './shared/look.js';
import { exampleMasters, keyPrefix } from './shared/masters.js';

await using masters = await exampleMasters();
await using redlock = Redlock.connect(masters.urls, { keyPrefix });
await redlock.ready({ allWithinMs: 5_000 });

const token = 'a secret of yours, from the environment'.replaceAll(' ', '-');
const page = dashboard(redlock, { basePath: '/locks', token, log: (line) => console.log(line) });
const app = new Hono();
app.all('/locks', (context) => page.fetch(context.req.raw));
app.all('/locks/*', (context) => page.fetch(context.req.raw));
const server: ServerType = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
if (server.address() === null) await once(server, 'listening');
const { port } = server.address() as AddressInfo;

await look(redlock, `http://localhost:${port}/locks`, { authorization: `Bearer ${token}` });

page.close();
server.close();
