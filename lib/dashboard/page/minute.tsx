/** The last minute, in charts. */
import type { JSX } from 'preact';
import type { MinuteShown } from '../public.js';
import { Chart } from './chart.js';
import { count, rate, shortTime } from './format.js';
import { Empty } from './shown.js';

export function Minute({ minute }: { readonly minute: MinuteShown }): JSX.Element {
  const { held, shared, waiting } = minute;
  return (
    <section class="panel" aria-labelledby="minute">
      <div class="heading">
        <h2 id="minute">This minute</h2>
      </div>
      <div class="charts">
        <Chart
          title="Locks"
          lines={[
            { name: 'held', values: held, colour: 'accent', show: count },
            { name: 'waiting', values: waiting, colour: 'warn', show: count },
          ]}
        />
        {shared === undefined ? null : (
          <>
            <Chart
              title="Per second"
              lines={[
                { name: 'acquired', values: shared.acquired, colour: 'accent', show: rate },
                { name: 'lost', values: shared.lost, colour: 'bad', show: rate },
              ]}
            />
            <Chart
              title="Waits"
              lines={[
                { name: 'p50', values: shared.waitP50, colour: 'accent', show: shortTime },
                { name: 'p99', values: shared.waitP99, colour: 'warn', show: shortTime },
              ]}
            />
          </>
        )}
      </div>
      {shared === undefined ? (
        <Empty>No instance shares its counts, so acquisitions, waits and losses are not known.</Empty>
      ) : (
        <p class="remark">Instances report what they have done every 20 s: the latest is still to come.</p>
      )}
    </section>
  );
}
