/** Timestamp locks over one master in memory, under virtual time, each with a wall clock of its own. */
import { TimestampLock, type TimestampLockOptions } from '../../lib/timestamp/index.js';
import { FakeRandom } from './fake-cluster.js';
import { FakeMaster } from './fake-master.js';
import { FakeTime } from './fake-time.js';

/** The time of day at instant 0 of the virtual time: a whole second. */
export const DAY_MS = 1_790_000_000_000;

export class TimestampBench {
  readonly time = new FakeTime();
  readonly server = new FakeMaster('m1', this.time);

  /** What a wall clock that is right shows. */
  wallMs(): number {
    return DAY_MS + this.time.now();
  }

  /** @param clock  `aheadMs` may be set later: a clock that steps */
  lock(options: TimestampLockOptions = {}, clock: { aheadMs: number } = { aheadMs: 0 }): TimestampLock {
    const { server, time } = this;
    const environment = {
      transport: server,
      clock: time,
      timers: time,
      random: new FakeRandom(),
      wallMs: () => this.wallMs() + clock.aheadMs,
    };
    return new TimestampLock(environment, options);
  }

  /** The names of what was sent, without evaluating scripts twice: `evalsha` and `eval` are `script`. */
  sent(): string[] {
    return this.server.sent.map(({ command: { name } }) =>
      name === 'evalsha' || name === 'eval' ? 'script' : name,
    );
  }
}
