/** Leaders and jobs. */
import type { JSX } from 'preact';
import type { JobShown, LeaderShown, TickShown } from '../public.js';
import { counted, duration, shortTime } from './format.js';
import { At, Empty, Holder, Pill, Since, type Tone } from './shown.js';

export function Leaders({
  leaders,
  now,
  onOpen,
}: {
  readonly leaders: readonly LeaderShown[];
  readonly now: number;
  readonly onOpen: (name: string) => void;
}): JSX.Element {
  return (
    <section class="panel" aria-labelledby="leaders">
      <div class="heading">
        <h2 id="leaders">Leaders</h2>
      </div>
      {leaders.length === 0 ? <Empty>Nobody leads.</Empty> : null}
      <ul class="entries">
        {leaders.map(({ candidates, holder, name, since, value }) => (
          <li key={name}>
            <div class="entry-name">
              <button type="button" class="link" onClick={() => onOpen(name)}>
                {name}
              </button>
              {holder === undefined ? <Pill tone="warn">no leader</Pill> : <Pill tone="good">leads</Pill>}
            </div>
            <p class="value mono">{value === '' ? <span class="quiet">no value</span> : value}</p>
            <p class="quiet">
              {holder === undefined ? null : (
                <>
                  <Holder holder={holder} /> for <Since at={since} now={now} /> ·{' '}
                </>
              )}
              {candidates === 0 ? 'no candidates' : counted(candidates, 'candidate')}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Jobs({
  jobs,
  now,
  onOpen,
}: {
  readonly jobs: readonly JobShown[];
  readonly now: number;
  readonly onOpen: (name: string) => void;
}): JSX.Element {
  return (
    <section class="panel" aria-labelledby="jobs">
      <div class="heading">
        <h2 id="jobs">Jobs</h2>
      </div>
      {jobs.length === 0 ? <Empty>No job has run.</Empty> : null}
      <ul class="entries">
        {jobs.map((job) => (
          <Job key={job.name} job={job} now={now} onOpen={onOpen} />
        ))}
      </ul>
    </section>
  );
}

function Job({
  job: { name, next, runner, schedule, ticks },
  now,
  onOpen,
}: {
  readonly job: JobShown;
  readonly now: number;
  readonly onOpen: (name: string) => void;
}): JSX.Element {
  return (
    <li>
      <div class="entry-name">
        <button type="button" class="link" onClick={() => onOpen(name)}>
          {name}
        </button>
        <span class="quiet">{scheduleIn(schedule)}</span>
      </div>
      <p class="quiet">
        {next === undefined
          ? 'next tick not known'
          : next <= now
            ? 'due now'
            : `next in ${duration(next - now)}`}
        {runner === undefined ? null : (
          <>
            {' '}
            · runs on <Holder holder={runner} />
          </>
        )}
      </p>
      {ticks.length === 0 ? null : (
        <ul class="ticks">
          {ticks.map((tick) => (
            <Tick key={tick.at} tick={tick} now={now} />
          ))}
        </ul>
      )}
    </li>
  );
}

const TICKS: Readonly<Record<TickShown['state'], Tone>> = {
  running: 'accent',
  done: 'good',
  interrupted: 'bad',
};

function Tick({ tick, now }: { readonly tick: TickShown; readonly now: number }): JSX.Element {
  const tookMs = tick.state === 'running' ? Math.max(0, now - tick.startedAt) : tick.tookMs;
  return (
    <li>
      <At at={tick.at} now={now} /> <Pill tone={TICKS[tick.state]}>{tick.state}</Pill>{' '}
      {tookMs === undefined ? null : <span class="quiet">{shortTime(tookMs)}</span>}
    </li>
  );
}

/** `every 60000` in words; a cron expression as it is. */
function scheduleIn(schedule: string): string {
  const every = /^every (\d+)$/.exec(schedule)?.[1];
  return every === undefined ? schedule : `every ${shortTime(Number(every))}`;
}
