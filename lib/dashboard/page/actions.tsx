/** Taking a lock away: the name has to be typed. */
import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ActionName, ActionsShown, LockDetails } from '../public.js';
import { act, type ActionOutcome } from './feed.js';

const TEXTS: Readonly<Record<ActionName, { readonly verb: string; readonly effect: string }>> = {
  free: {
    verb: 'Free',
    effect:
      'Takes the lock from its holder at once, and hands it over to the first waiter. The holder is told, and may go on beside the next one until it stops.',
  },
  steal: {
    verb: 'Steal',
    effect:
      'Tells the holder to stop, and hands the lock over to the first waiter when it has, or when its time for that is over. A holder that ignores its signal goes on.',
  },
  depose: {
    verb: 'Depose',
    effect: 'Tells the leader to stop, and lets another candidate lead.',
  },
};

export function Actions({
  actions,
  lock: { holders, name, use },
}: {
  readonly lock: LockDetails;
  readonly actions: ActionsShown;
}): JSX.Element | null {
  const [chosen, choose] = useState<ActionName | undefined>(undefined);
  const [outcome, report] = useState<ActionOutcome | undefined>(undefined);
  const offered = (['free', 'steal', 'depose'] as const).filter(
    (action) => actions[action] && (action === 'depose') === (use === 'election' && actions.depose),
  );
  const isHeld = holders.length > 0;
  return (
    <div class="actions">
      {offered.length === 0 ? <p class="quiet">Read-only: nothing can be taken away here.</p> : null}
      {chosen === undefined && isHeld
        ? offered.map((action) => (
            <button
              key={action}
              type="button"
              class="danger"
              onClick={() => {
                report(undefined);
                choose(action);
              }}
            >
              {TEXTS[action].verb}…
            </button>
          ))
        : null}
      {chosen === undefined ? null : (
        <Confirmation
          action={chosen}
          name={name}
          onEnd={(ended) => {
            report(ended);
            choose(undefined);
          }}
        />
      )}
      <p role="status" class={outcome?.done === false ? 'bad-text' : ''}>
        {outcome?.outcome ?? ''}
      </p>
    </div>
  );
}

function Confirmation({
  action,
  name,
  onEnd,
}: {
  readonly action: ActionName;
  readonly name: string;
  readonly onEnd: (outcome: ActionOutcome | undefined) => void;
}): JSX.Element {
  const [typed, type] = useState('');
  const [isUnderWay, setUnderWay] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.focus(), []); // before anything can be typed elsewhere
  const { effect, verb } = TEXTS[action];
  return (
    <form
      class="confirmation"
      onSubmit={(event) => {
        event.preventDefault();
        if (typed !== name || isUnderWay) return;
        setUnderWay(true);
        void act(action, name, typed).then(onEnd);
      }}
    >
      <p>{effect}</p>
      <label>
        <span>
          Type <strong class="mono">{name}</strong> to go on
        </span>
        <input
          ref={input}
          value={typed}
          onInput={(event) => type(event.currentTarget.value)}
          autocomplete="off"
          spellcheck={false}
        />
      </label>
      <div class="buttons">
        <button type="submit" class="danger" disabled={typed !== name || isUnderWay}>
          {verb} it
        </button>
        <button type="button" class="quiet-button" onClick={() => onEnd(undefined)}>
          Cancel
        </button>
      </div>
    </form>
  );
}
