/** The masters, and what the doctor says of them. */
import type { JSX } from 'preact';
import type { FindingShown, MasterShown } from '../public.js';
import { bytes, counted, shortTime, signed } from './format.js';
import { Empty, Pill, type Tone } from './shown.js';

const TONES: Readonly<Record<MasterShown['state'], Tone>> = { up: 'good', silent: 'bad', down: 'bad' };

export function Masters({
  masters,
  findings,
}: {
  readonly masters: readonly MasterShown[];
  readonly findings: readonly FindingShown[] | undefined;
}): JSX.Element {
  const up = masters.filter(({ state }) => state === 'up').length;
  const needed = Math.floor(masters.length / 2) + 1;
  return (
    <section aria-labelledby="masters">
      <div class="heading">
        <h2 id="masters">Masters</h2>
        <span class="quiet">
          {up} of {masters.length} up
        </span>
        {up < needed && masters.length > 0 ? <Pill tone="bad">no quorum: {needed} are needed</Pill> : null}
      </div>
      <ul class="masters">
        {masters.map((master) => (
          <Master key={master.node} master={master} />
        ))}
      </ul>
      <Findings findings={findings} />
    </section>
  );
}

function Master({ master }: { readonly master: MasterShown }): JSX.Element {
  const { cause, clockAheadMs, latencyMs, memoryBytes, memoryLimitBytes, node, server, state } = master;
  const isUp = state === 'up';
  return (
    <li class={`master ${isUp ? '' : 'away'}`}>
      <div class="master-name">
        <span class="mono">{node}</span>
        <Pill tone={TONES[state]}>{state}</Pill>
      </div>
      {cause === undefined ? null : <p class={isUp ? 'cause warn-text' : 'cause bad-text'}>{cause}</p>}
      <dl class="facts">
        <Fact name="latency" text={!isUp || latencyMs === undefined ? undefined : shortTime(latencyMs)} />
        <Fact name="clock" text={!isUp || clockAheadMs === undefined ? undefined : signed(clockAheadMs)} />
        <Fact name="server" text={server} />
        <Fact
          name="memory"
          text={
            memoryBytes === undefined
              ? undefined
              : `${bytes(memoryBytes)}${memoryLimitBytes === undefined ? '' : ` of ${bytes(memoryLimitBytes)}`}`
          }
        />
      </dl>
    </li>
  );
}

function Fact({ name, text }: { readonly name: string; readonly text: string | undefined }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{text ?? '–'}</dd>
    </div>
  );
}

const SEVERITIES: Readonly<Record<FindingShown['severity'], Tone>> = {
  error: 'bad',
  warning: 'warn',
  note: 'quiet',
};

function Findings({ findings }: { readonly findings: readonly FindingShown[] | undefined }): JSX.Element {
  if (findings === undefined) return <Empty>The doctor looks at the masters…</Empty>;
  if (findings.length === 0) return <Empty>The doctor found nothing.</Empty>;
  const count = (severity: FindingShown['severity']): number =>
    findings.filter((finding) => finding.severity === severity).length;
  const all = [
    ...(count('error') > 0 ? [counted(count('error'), 'error')] : []),
    ...(count('warning') > 0 ? [counted(count('warning'), 'warning')] : []),
    ...(count('note') > 0 ? [counted(count('note'), 'note')] : []),
  ];
  return (
    <details class="findings">
      <summary>Doctor: {all.join(', ')}</summary>
      <ul>
        {findings.map(({ code, nodes, remedy, severity, text }) => (
          <li key={`${code} ${text}`}>
            <p>
              <Pill tone={SEVERITIES[severity]}>{severity}</Pill> <strong>{code}</strong>{' '}
              <span class="quiet mono">{nodes.join(', ')}</span>
            </p>
            <p>{text}</p>
            <p class="quiet">{remedy}</p>
          </li>
        ))}
      </ul>
    </details>
  );
}
