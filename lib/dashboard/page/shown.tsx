/** Small parts that several lists share. */
import type { ComponentChildren, JSX } from 'preact';
import type { HolderShown, InstanceShown, VoteShown } from '../public.js';
import { clock, duration, iso } from './format.js';

/** A state, as a word and a colour. */
export function Pill({
  tone,
  children,
}: {
  readonly tone: Tone;
  readonly children: ComponentChildren;
}): JSX.Element {
  return <span class={`pill ${tone}`}>{children}</span>;
}

export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'accent';

/** How long ago something began. */
export function Since({ at, now }: { readonly at: number; readonly now: number }): JSX.Element {
  return (
    <time dateTime={iso(at)} title={iso(at)}>
      {duration(now - at)}
    </time>
  );
}

/** A time of day. */
export function At({ at, now }: { readonly at: number; readonly now: number }): JSX.Element {
  return (
    <time dateTime={iso(at)} title={iso(at)}>
      {clock(at, now)}
    </time>
  );
}

/** By its label, or by the public part of its tokens. */
export function nameOf({ client, label }: InstanceShown): string {
  return label ?? (client === '' ? 'another library' : client);
}

const ROLES: Readonly<Record<HolderShown['role'], (holder: HolderShown) => string>> = {
  holder: () => '',
  reader: () => 'reads',
  writer: () => 'writes',
  permits: ({ slots }) => `${slots.length} permit${slots.length === 1 ? '' : 's'}`,
};

export function Holder({ holder }: { readonly holder: HolderShown }): JSX.Element {
  const role = ROLES[holder.role](holder);
  return (
    <span class="holder" title={`fingerprint of its token: ${holder.holder}`}>
      <span class={holder.label === undefined ? 'mono' : ''}>{nameOf(holder)}</span>
      {role === '' ? null : <span class="quiet"> {role}</span>}
    </span>
  );
}

const MARKS: Readonly<Record<VoteShown['state'], string>> = {
  granted: '●',
  other: '◐',
  free: '○',
  foreign: '×',
  unknown: '?',
};

/** A mark for each master, and how many votes the holder has. */
export function Votes({ votes }: { readonly votes: readonly VoteShown['state'][] }): JSX.Element {
  const granted = votes.filter((vote) => vote === 'granted').length;
  return (
    <span class="votes">
      <span aria-hidden="true">
        {votes.map((vote, i) => (
          <span key={i} class={`vote ${vote}`} title={vote}>
            {MARKS[vote]}
          </span>
        ))}
      </span>
      <span class="quiet">
        {' '}
        {granted}/{votes.length}
      </span>
    </span>
  );
}

export function Empty({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}
