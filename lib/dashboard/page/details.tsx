/** One lock: everything that the masters say of it, and what can be done about it. */
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { ActionsShown, LockDetails, VoteShown } from '../public.js';
import { Actions } from './actions.js';
import { count, duration } from './format.js';
import { At, Empty, Holder, nameOf, Pill, Since, type Tone } from './shown.js';

export interface DetailsProps {
  readonly name: string;
  /** Undefined before it is read; null if there is no such lock. */
  readonly lock: LockDetails | null | undefined;
  readonly now: number;
  readonly actions: ActionsShown;
  readonly onClose: () => void;
}

/** A dialog, so that the focus stays within, Esc closes it, and what is behind is not read aloud. */
export function Details({ actions, lock, name, now, onClose }: DetailsProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    if (dialog.current?.open === false) dialog.current.showModal();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="details"
      aria-labelledby="details"
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current?.close();
      }}
    >
      <div class="details-body">
        <header>
          <h2 id="details">{name}</h2>
          <button type="button" class="quiet-button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </header>
        {lock === undefined ? <Empty>The masters are asked…</Empty> : null}
        {lock === null ? <Empty>Nobody holds this lock or waits for it.</Empty> : null}
        {lock === undefined || lock === null ? null : <Facts lock={lock} now={now} />}
        {lock === undefined || lock === null ? null : <Actions lock={lock} actions={actions} />}
        {lock === undefined || lock === null ? null : <Nodes nodes={lock.nodes} now={now} />}
        {lock === undefined || lock === null ? null : <Waiters lock={lock} now={now} />}
      </div>
    </dialog>
  );
}

function Facts({ lock, now }: { readonly lock: LockDetails; readonly now: number }): JSX.Element {
  const { endsAt, fence, holders, holding, kind, note, since, state, use } = lock;
  return (
    <dl class="facts wide">
      <Fact name="state">
        {state}
        {use === 'lock' ? '' : `, ${use}`} <span class="quiet">({kind})</span>
      </Fact>
      <Fact name="held by">
        {holders.length === 0 ? 'nobody' : null}
        {holders.map((holder) => (
          <span class="block" key={holder.holder}>
            <Holder holder={holder} />{' '}
            <span class="quiet">
              {[
                holder.host,
                holder.pid === undefined ? undefined : `pid ${holder.pid}`,
                holder.holder,
                holders.length < 2 || holder.since === undefined ? undefined : duration(now - holder.since),
              ]
                .filter((text) => text !== undefined)
                .join(' · ')}
            </span>
          </span>
        ))}
        {holding > holders.length ? (
          <span class="quiet">and {count(holding - holders.length)} more</span>
        ) : null}
      </Fact>
      {note === undefined ? null : <Fact name="note">{note}</Fact>}
      {since === undefined ? null : (
        <Fact name="since">
          <At at={since} now={now} />{' '}
          <span class="quiet">
            (<Since at={since} now={now} />)
          </span>
        </Fact>
      )}
      {holders.length === 0 ? null : (
        <Fact name="time left">{endsAt === undefined ? 'no end' : duration(endsAt - now)}</Fact>
      )}
      {fence === undefined ? null : (
        <Fact name="fencing token">
          <span class="mono">{fence}</span>
        </Fact>
      )}
    </dl>
  );
}

function Fact({
  name,
  children,
}: {
  readonly name: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const VOTES: Readonly<Record<VoteShown['state'], Tone>> = {
  granted: 'good',
  other: 'warn',
  free: 'quiet',
  foreign: 'warn',
  unknown: 'bad',
};

function Nodes({ nodes, now }: { readonly nodes: readonly VoteShown[]; readonly now: number }): JSX.Element {
  return (
    <>
      <h3>Votes</h3>
      <ul class="entries">
        {nodes.map(({ cause, endsAt, holder, node, state }) => (
          <li key={node} class="line">
            <span class="mono">{node}</span>
            <Pill tone={VOTES[state]}>{state}</Pill>
            <span class="quiet mono">{holder ?? cause ?? ''}</span>
            <span class="quiet number">{endsAt === undefined ? '' : duration(endsAt - now)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Waiters({ lock, now }: { readonly lock: LockDetails; readonly now: number }): JSX.Element {
  const { votes, waiters, waiting } = lock;
  return (
    <>
      <h3>Waiting: {count(waiting)}</h3>
      {waiters.length === 0 ? <Empty>Nobody waits.</Empty> : null}
      <ol class="entries numbered">
        {waiters.map((waiter) => (
          <li key={waiter.waiter} class="line">
            <span class={waiter.label === undefined ? 'mono' : ''}>{nameOf(waiter)}</span>
            <span class="quiet mono">{waiter.waiter}</span>
            <span class="quiet">
              on {waiter.places} of {votes.length}
            </span>
            <span class="number">
              <Since at={waiter.since} now={now} />
            </span>
          </li>
        ))}
      </ol>
      {waiting > waiters.length ? <p class="quiet">and {count(waiting - waiters.length)} more</p> : null}
    </>
  );
}
