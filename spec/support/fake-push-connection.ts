/** A push connection over a master in memory. What a spec makes it do, it does at once. */
import type { PushListener, Subscription } from '../../lib/redis/subscription.js';
import type { Channels } from '../../lib/testing/master/server.js';

export interface FakePushConnectionTerms {
  readonly channels: Channels;
  readonly channel: string;
  /** Opens by itself in the next step, and again after each loss. */
  readonly opensByItself: () => boolean;
  /** False: what comes in is lost, and no side notices. */
  readonly delivers: () => boolean;
}

export class FakePushConnection implements Subscription {
  readonly channel: string;
  renewals = 0;
  isClosed = false;
  readonly #terms: FakePushConnectionTerms;
  readonly #listener: PushListener;
  #unsubscribe: () => void = () => undefined;

  constructor(terms: FakePushConnectionTerms, listener: PushListener) {
    this.channel = terms.channel;
    this.#terms = terms;
    this.#listener = listener;
    this.#openSoon();
  }

  /** The master confirms the subscription. */
  open(): void {
    if (this.isClosed) return;
    const { channel, channels, delivers } = this.#terms;
    this.#unsubscribe = channels.subscribe(channel, (text) => {
      if (delivers()) this.tell(text);
    });
    this.#listener.onOpen();
  }

  /** A text comes in, late or for the second time or from nobody. */
  tell(text: string): void {
    if (!this.isClosed) this.#listener.onPush(text);
  }

  lose(message = 'the push connection was lost', isRefused = false): void {
    if (this.isClosed) return;
    this.#unsubscribe();
    this.#listener.onLost(new Error(message), isRefused);
    if (!isRefused) this.#openSoon();
  }

  renew(): void {
    this.renewals++;
    this.lose();
  }

  close(): void {
    this.isClosed = true;
    this.#unsubscribe();
  }

  #openSoon(): void {
    if (this.#terms.opensByItself()) void Promise.resolve().then(() => this.open());
  }
}
