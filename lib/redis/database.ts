/**
 * Databases other than 0.
 *
 * A client selects its database when it connects, and ioredis goes on where the server refuses that: it is ready, in
 * database 0, and holders of one lock do not see each other. To look at the connection would not help: commands may be sent
 * again on the next one. So where a client is meant to be in another database, each script selects it first. That holds for
 * the script alone, and a script that may not do it does nothing at all.
 */

/** What is read of a client, as far as it is there. */
export interface SelectingClient {
  readonly isCluster?: boolean;
  readonly options?: {
    readonly db?: unknown;
    /** Of a cluster: for the connections to its nodes. */
    readonly redisOptions?: { readonly db?: unknown };
  };
  /** What ioredis takes its connection for; it is changed by `client.select()`, and not there before the first one. */
  readonly condition?: { readonly select?: unknown } | null;
}

/** Follows the database that a client is meant to be in. */
export class Database {
  readonly #client: SelectingClient;
  #isSelected = false;

  constructor(client: object) {
    this.#client = client; // all of it is optional
  }

  /**
   * Undefined where it was 0 each time that it was asked for, and nothing has to be selected. What ioredis could not make a
   * number of is none, either: the servers refuse it.
   */
  get number(): number | undefined {
    const { condition, isCluster, options } = this.#client;
    const db = isCluster === true ? options?.redisOptions?.db : (condition?.select ?? options?.db);
    const number = Number(db ?? 0);
    if (number !== 0) this.#isSelected = true;
    return this.#isSelected ? number : undefined;
  }
}

/** The script, in that database or not at all. */
export function selecting(source: string, database: number): string {
  return `do
  local selected = redis.pcall('SELECT', '${database}')
  if selected.err then
    return redis.error_reply('ERR quorate needs SELECT in scripts, for database ${database} (the right +select): ' .. selected.err)
  end
end
${source}`;
}
