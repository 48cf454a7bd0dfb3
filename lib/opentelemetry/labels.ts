/**
 * The attributes that distinguish measurements. Their values are few: kinds, calls, codes, masters, and the labels that a
 * function of the user derives from resources. Names of resources are not attributes: a metric would have a series for each
 * of them.
 */
import type { Attributes } from '@opentelemetry/api';
import type { LockKind } from '../telemetry/events.js';

/** Derives a label from resources. @returns undefined for no label */
export type ResourceLabel = (resources: readonly string[]) => string | undefined;

/** How many values a label has; later ones are `other`. */
const MOST_LABELS = 100;
const OTHER = 'other';

/** What a measurement is about. */
interface About {
  readonly resources: readonly string[];
  readonly kind: LockKind;
}

export class Labels {
  readonly #of: ResourceLabel | undefined;
  readonly #common: Attributes;
  readonly #known = new Set<string>();

  constructor(of: ResourceLabel | undefined, common: Attributes) {
    this.#of = of;
    this.#common = common;
  }

  get common(): Attributes {
    return this.#common;
  }

  attributes({ kind, resources }: About, more: Attributes = {}): Attributes {
    const label = this.label(resources);
    const named = label === undefined ? {} : { 'quorate.lock.label': label };
    return { ...this.#common, 'quorate.lock.kind': kind, ...named, ...more };
  }

  /** A label function that throws gives no label: a measurement must not fail the operation that it measures. */
  label(resources: readonly string[]): string | undefined {
    try {
      const label: unknown = this.#of?.(resources);
      return typeof label === 'string' ? this.#bounded(label) : undefined;
    } catch {
      return undefined;
    }
  }

  #bounded(label: string): string {
    if (this.#known.has(label)) return label;
    if (this.#known.size >= MOST_LABELS) return OTHER;
    this.#known.add(label);
    return label;
  }
}
