/**
 * A NestJS provider: two applications bill one invoice, one at a time; one of them is shut down meanwhile, waits for its work, and
 * its lock is free then. examples/nestjs/ has the module and a service.
 *
 *   node --import tsx examples/nestjs.ts
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { type INestApplicationContext, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redlock } from '../lib/index.js'; // you write: from 'quorate'
import { InvoicesService } from './nestjs/invoices.service.js';
import { RedlockModule } from './nestjs/redlock.module.js';
import { exampleMasters, keyPrefix } from './shared/masters.js';

/** What a `ConfigService` would know. */
class Config {
  static urls: readonly string[] = [];
  readonly masters = Config.urls;
}

@Module({ providers: [Config], exports: [Config] })
class ConfigModule {}

@Module({
  imports: [
    RedlockModule.forRootAsync({
      imports: [ConfigModule],
      inject: [Config],
      useFactory: ({ masters }: Config) => ({ masters, options: { keyPrefix }, drainMs: 10_000 }),
    }),
  ],
  providers: [
    {
      provide: InvoicesService,
      inject: [Redlock],
      useFactory: (redlock: Redlock) => new InvoicesService(redlock),
    },
  ],
})
class AppModule {}

async function start(): Promise<INestApplicationContext> {
  const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error', 'warn'] });
  return app.enableShutdownHooks(); // SIGTERM closes it
}

await using masters = await exampleMasters();
Config.urls = masters.urls;
const [one, other] = [await start(), await start()];
const said: string[] = [];

const first = one.get(InvoicesService).bill('42', async ({ fence, signal }) => {
  said.push('one bills');
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  await sleep(100); // what is left to do
  said.push('one stops, since its application shuts down');
  assert.ok(fence !== undefined);
});
while (said.length === 0) await sleep(5);
const second = other.get(InvoicesService).bill('42', async () => void said.push('the other bills'));
while ((await other.get(Redlock).inspect('invoice:42')).waiting === 0) await sleep(5);
await one.close();
await first;
await second;
console.log(said.join('\n'));
assert.deepEqual(said, ['one bills', 'one stops, since its application shuts down', 'the other bills']);
await assert.rejects(one.get(Redlock).acquire('x'), { code: 'CLOSED' });
await other.close();
