/**
 * quorate in a NestJS application: one `Redlock` for all of it, made with what other providers know, and closed in order.
 *
 * `Redlock` is a class, so it is its own token. Where your compiler emits metadata of decorators, `constructor(private readonly
 * redlock: Redlock)` is enough; elsewhere name it: `{ provide: X, useFactory: (redlock: Redlock) => new X(redlock), inject: [Redlock] }`.
 */
import {
  type DynamicModule,
  type FactoryProvider,
  Logger,
  Module,
  type ModuleMetadata,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Redlock, type RedlockOptions } from '../../lib/index.js'; // you write: from 'quorate'

/** Where the locks are, and how they are taken. */
export interface RedlockSettings {
  readonly masters: Parameters<typeof Redlock.connect>[0];
  readonly options?: RedlockOptions;
  /** How long a shutdown waits for routines that run under a lock. Milliseconds. @default 30_000 */
  readonly drainMs?: number;
}

/** Settings from other providers, such as a `ConfigService`. */
export type RedlockModuleOptions = Pick<ModuleMetadata, 'imports'> &
  Pick<FactoryProvider<RedlockSettings>, 'inject' | 'useFactory'>;

const SETTINGS = Symbol('RedlockSettings');

/** Nest calls it after its servers have stopped to take requests: `app.close()`, or a signal with `enableShutdownHooks()`. */
class RedlockShutdown implements OnApplicationShutdown {
  readonly #redlock: Redlock;
  readonly #drainMs: number | undefined;

  constructor(redlock: Redlock, { drainMs }: RedlockSettings) {
    this.#redlock = redlock;
    this.#drainMs = drainMs;
  }

  /** Asks those who hold locks to stop, waits for them, and releases what they held. */
  async onApplicationShutdown(): Promise<void> {
    await this.#redlock.close(this.#drainMs === undefined ? {} : { drainMs: this.#drainMs });
  }
}

@Module({})
export class RedlockModule {
  static forRootAsync({ imports = [], inject = [], useFactory }: RedlockModuleOptions): DynamicModule {
    return {
      module: RedlockModule,
      global: true,
      imports,
      providers: [
        { provide: SETTINGS, inject, useFactory },
        {
          provide: Redlock,
          inject: [SETTINGS],
          useFactory: ({ masters, options }: RedlockSettings) => told(Redlock.connect(masters, options)),
        },
        {
          provide: RedlockShutdown,
          inject: [Redlock, SETTINGS],
          useFactory: (redlock: Redlock, settings: RedlockSettings) => new RedlockShutdown(redlock, settings),
        },
      ],
      exports: [Redlock],
    };
  }
}

/** What somebody on call should read: docs/OBSERVABILITY.md has the rest. */
function told(redlock: Redlock): Redlock {
  const logger = new Logger('Redlock');
  redlock.on('lost', ({ cause, resources }) => logger.error(`lost ${resources.join()}: ${cause.message}`));
  redlock.on('nodeDown', ({ cause, node }) => logger.warn(`${node} does not take part: ${cause.message}`));
  redlock.on('nodeUp', ({ node }) => logger.log(`${node} takes part`));
  return redlock;
}
