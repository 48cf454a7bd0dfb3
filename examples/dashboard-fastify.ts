/**
 * The dashboard in a Fastify application. Fastify leaves the path in the URL, so the dashboard is told where it is, and has read
 * the body already, which goes along.
 *
 *   node --import tsx examples/dashboard-fastify.ts
 */
import { fastify } from 'fastify';
import { dashboard } from '../lib/dashboard/index.js'; // you write: from 'quorate/dashboard'
import { Redlock } from '../lib/index.js'; // you write: from 'quorate'
import { look } from './shared/look.js';
import { exampleMasters, keyPrefix } from './shared/masters.js';

await using masters = await exampleMasters();
await using redlock = Redlock.connect(masters.urls, { keyPrefix });
await redlock.ready({ allWithinMs: 5_000 });

const page = dashboard(redlock, { basePath: '/locks', log: (line) => console.log(line) });
const app = fastify();
for (const url of ['/locks', '/locks/*'])
  app.all(url, (request, reply) => {
    reply.hijack();
    page(Object.assign(request.raw, { body: request.body }), reply.raw);
  });
app.addHook('preClose', () => page.close());
const address = await app.listen({ port: 0, host: '127.0.0.1' });

await look(redlock, `${address}/locks`);
await app.close();
