/**
 * What a server says about itself in `INFO`. Forks omit lines or add some, so each line is read on its own, and a missing one
 * means that the value is not known.
 */
export class ServerInfo {
  readonly #lines = new Map<string, string>();

  constructor(text: string) {
    for (const line of text.split(/\r?\n/)) {
      const colon = line.indexOf(':');
      if (colon > 0 && !line.startsWith('#')) this.#lines.set(line.slice(0, colon), line.slice(colon + 1));
    }
  }

  text(name: string): string | undefined {
    return this.#lines.get(name);
  }

  number(name: string): number | undefined {
    const text = this.#lines.get(name);
    const number = text === undefined || text === '' ? NaN : Number(text);
    return Number.isFinite(number) ? number : undefined;
  }

  /** Valkey reports its own version, and that of the Redis that it is compatible with. */
  get software(): Software {
    const valkey = this.text('valkey_version');
    if (valkey !== undefined) return { name: 'Valkey', version: valkey, redisVersion: this.#redisVersion };
    const other = OTHERS.find(([line]) => this.text(line) !== undefined);
    if (other === undefined)
      return { name: 'Redis', version: this.#redisVersion, redisVersion: this.#redisVersion };
    const [line, name] = other;
    return { name, version: this.text(line) ?? '', redisVersion: this.#redisVersion };
  }

  get #redisVersion(): string {
    return this.text('redis_version') ?? '';
  }
}

/** The server software. */
export interface Software {
  readonly name: string;
  readonly version: string;
  /** The version of Redis that it is compatible with; empty if it does not say. */
  readonly redisVersion: string;
}

/** Lines by which untested forks are recognised. */
const OTHERS: readonly (readonly [line: string, name: string])[] = [
  ['dragonfly_version', 'Dragonfly'],
  ['garnet_version', 'Garnet'],
  ['kvrocks_version', 'Kvrocks'],
  ['mvcc_depth', 'KeyDB'],
];

/** Whether a version, as in `7.0.15`, is below another, as in `6.2`. */
export function isBelow(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number);
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}
