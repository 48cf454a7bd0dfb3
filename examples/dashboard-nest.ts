/**
 * The dashboard in a NestJS application: as middleware of its server, over the application's own `Redlock`, closed with it.
 * examples/nestjs.ts has the module of the `Redlock`.
 *
 *   node --import tsx examples/dashboard-nest.ts
 */
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { dashboard } from '../lib/dashboard/index.js'; // you write: from 'quorate/dashboard'
import { Redlock } from '../lib/index.js'; // you write: from 'quorate'
import { RedlockModule } from './nestjs/redlock.module.js';
import { look } from './shared/look.js';
import { exampleMasters, keyPrefix } from './shared/masters.js';

await using masters = await exampleMasters();

@Module({
  imports: [
    RedlockModule.forRootAsync({ useFactory: () => ({ masters: masters.urls, options: { keyPrefix } }) }),
  ],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
const redlock = app.get(Redlock);
await redlock.ready({ allWithinMs: 5_000 });
const page = dashboard(redlock, { log: (line) => console.log(line) });
app.use('/locks', page);
await app.listen(0, '127.0.0.1');

await look(redlock, `${await app.getUrl()}/locks`);

page.close();
await app.close();
