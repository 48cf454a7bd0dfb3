/** The stream of one viewer: after each round, what has changed for it. */
import type { Poller, Viewer } from '../poller.js';
import type { ActionsShown, DashboardSnapshot } from '../public.js';
import type { EventSink } from './request.js';
import { detailsOf, pageOf, type View } from '../view.js';

/** What of a snapshot does not come from the masters. */
export type Setting = Pick<DashboardSnapshot, 'keyPrefix'> & { readonly actions: ActionsShown };

/** What one view shows now. */
function snapshotOf(poller: Poller, view: View, setting: Setting): DashboardSnapshot {
  const { findings, ...shown } = poller.shown;
  const { locks, isPartial } = poller;
  const opened = view.lock === undefined ? undefined : poller.lock(view.lock);
  return {
    ...shown,
    ...(findings === undefined ? {} : { findings }),
    locks: { ...pageOf(locks, view), known: locks.length, isPartial },
    ...(view.lock === undefined ? {} : { lock: opened === undefined ? null : detailsOf(opened) }),
    ...setting,
  };
}

/** Resolves after the next round that begins from now on. */
export function snapshotSoon(poller: Poller, view: View, setting: Setting): Promise<DashboardSnapshot> {
  return new Promise((resolve) => {
    const { begun } = poller;
    const detach = poller.attach({
      watched: [],
      opened: view.lock,
      onRound: (ended) => {
        if (ended <= begun) return;
        detach();
        resolve(snapshotOf(poller, view, setting));
      },
    });
  });
}

/** What is sent when nothing has changed, so that the page knows that it is not cut off. */
const BEAT = ': still here\n\n';

export class EventStream implements Viewer {
  watched: readonly string[] = [];
  readonly #poller: Poller;
  readonly #view: View;
  readonly #setting: Setting;
  readonly #sink: EventSink;
  readonly #detach: () => void;
  /** What was sent last, part by part. */
  readonly #sent = new Map<string, string>();

  constructor(poller: Poller, view: View, setting: Setting, sink: EventSink) {
    this.#poller = poller;
    this.#view = view;
    this.#setting = setting;
    this.#sink = sink;
    this.#detach = poller.attach(this);
    if (poller.isFresh) this.#send();
  }

  get opened(): string | undefined {
    return this.#view.lock;
  }

  onRound(): void {
    this.#send();
  }

  end(): void {
    this.#detach();
    this.#sink.end();
  }

  /** A viewer that does not keep up gets the latest once it does. */
  #send(): void {
    if (!this.#sink.isReady) return;
    const { at, ...parts } = snapshotOf(this.#poller, this.#view, this.#setting);
    this.watched = parts.locks.rows.map(({ name }) => name);
    const changed: string[] = [];
    for (const [part, value] of Object.entries(parts)) {
      const text = JSON.stringify(value);
      if (this.#sent.get(part) === text) continue;
      this.#sent.set(part, text);
      changed.push(`${JSON.stringify(part)}:${text}`);
    }
    const data = [`"at":${at}`, ...changed].join();
    this.#sink.send(changed.length === 0 ? BEAT : `event: change\ndata: {${data}}\n\n`);
  }
}
