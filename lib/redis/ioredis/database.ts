/**
 * Databases other than 0.
 *
 * A client selects its database when it connects. If the server refuses that, ioredis goes on: it is ready, in database
 * 0, and holders of one lock do not see each other. Checking the connection would not help, because commands may be sent
 * again on the next one. So for a client in another database, each script selects the database first. This affects only
 * the script, and a script that may not select does nothing at all.
 */

/** The parts of a client that are read, if present. */
export interface SelectingClient {
  readonly isCluster?: boolean;
  readonly options?: {
    readonly db?: unknown;
    /** Of a cluster: options for the connections to its nodes. */
    readonly redisOptions?: { readonly db?: unknown };
  };
  /**
   * The state that ioredis assumes for its connection. `client.select()` changes it; it is absent before the first
   * connection.
   */
  readonly condition?: { readonly select?: unknown } | null;
}

/** Tracks the database that a client is meant to use. */
export class Database {
  readonly #client: SelectingClient;
  #isSelected = false;

  constructor(client: object) {
    this.#client = client; // every property is optional
  }

  /**
   * Undefined as long as it has always been 0: then nothing has to be selected. A value that ioredis could not read as a
   * number is returned as it is (NaN), and the servers refuse it.
   */
  get number(): number | undefined {
    const { condition, isCluster, options } = this.#client;
    const db = isCluster === true ? options?.redisOptions?.db : (condition?.select ?? options?.db);
    const number = Number(db ?? 0);
    if (number !== 0) this.#isSelected = true;
    return this.#isSelected ? number : undefined;
  }
}
