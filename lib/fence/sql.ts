/**
 * The fence whose memory is a table beside the data: PostgreSQL, or SQLite from 3.35 on.
 *
 * In one transaction, check and write are one step: INSERT … ON CONFLICT DO UPDATE locks the resource's row, even without an
 * update, until the transaction ends; another transaction waits for it and then compares with what was committed. What can go
 * wrong: check and write in two transactions, or in none (a pause fits between two statements), and deleted rows (a late
 * write is then accepted again).
 */
import { invalidArgument, RedlockError, show } from '../runtime/errors.js';
import { checkNames } from '../input/option-names.js';
import { messageOf, requireFence, staleFence, storedDigits, wrongKind } from './refusal.js';

/**
 * Your function that runs one statement in your transaction. It gets two parameters, `params[0]` for `$1` and `params[1]` for
 * `$2`. It returns the rows, or an object with the rows as `rows`, or a promise of either. A row is an object by column names,
 * or an array.
 */
export type SqlQuery = (text: string, params: (string | number)[]) => unknown;

/** Options of `new SqlFence`. */
export interface SqlFenceOptions {
  /** A plain name, or schema.name: letters, digits and _, at most 63 each, no digit first. @default 'quorate_fences' */
  readonly table?: string | undefined;
}

interface StoredFence {
  /** As the driver gives it. */
  readonly fence: unknown;
}

const TABLE = /^[a-z_]\w{0,62}(?:\.[a-z_]\w{0,62})?$/i;
const SQLSTATE = /^[0-9A-Z]{5}$/;
/** Data that does not fit, constraints, no such schema, names and types. Not 42501 (rights), not 40 (serialization). */
const SHAPE_STATES = /^(?:22|23|3F|42(?!501))/;
/** SQLite has no codes that distinguish these. */
const SHAPE_TEXTS =
  /no such (?:table|column)|has no column|ON CONFLICT clause does not match|constraint failed|datatype mismatch|syntax error|cannot (?:store|modify|UPSERT)/;

/**
 * A fence with its memory in a table of the database that holds the data: one row for each resource, kept for ever.
 *
 * @example
 * ```ts
 * const fence = new SqlFence();
 * await pool.query(fence.createTable); // once
 *
 * await client.query('BEGIN');
 * await fence.check((text, params) => client.query(text, params), 'account:1', lease.fence);
 * await client.query('UPDATE accounts SET …');
 * await client.query('COMMIT'); // and ROLLBACK if any of it threw
 * ```
 */
export class SqlFence {
  /** Creates the table if it is missing: `resource` text, the key, and `fence` bigint. */
  readonly createTable: string;
  /**
   * The statement, the same for PostgreSQL and SQLite: `$1` is the resource, `$2` the fencing token. It returns one row with
   * the token if it accepts it, and no row if the token is stale.
   */
  readonly statement: string;
  readonly #higher: string;
  readonly #table: string;

  /** @throws RedlockError `INVALID_ARGUMENT`: the table's name is not a plain name */
  constructor(options: SqlFenceOptions = {}) {
    checkNames('options', options, ['table']);
    const { table = 'quorate_fences' } = options;
    if (typeof table !== 'string' || !TABLE.test(table)) {
      throw invalidArgument('table', table, 'a plain name or schema.name, of letters, digits and _');
    }
    this.#table = table;
    this.createTable = `CREATE TABLE IF NOT EXISTS ${table} (resource text PRIMARY KEY, fence bigint NOT NULL)`;
    // compared with the parameter, not with `excluded.fence`: in a column of text that would compare letters
    this.statement = `INSERT INTO ${table} AS held (resource, fence) VALUES ($1, CAST($2 AS bigint))
ON CONFLICT (resource) DO UPDATE SET fence = excluded.fence WHERE held.fence <= CAST($2 AS bigint)
RETURNING fence`;
    this.#higher = `SELECT fence FROM ${table} WHERE resource = $1 AND fence > CAST($2 AS bigint)`;
  }

  /**
   * Resolves with true, and stores the token when the transaction commits, unless a higher token was accepted for the
   * resource. Resolves with false if one was: the writer's lease has ended. Accepts the same token again, since one holder may
   * write several times. Runs one statement. Passes on other errors of the query function: a lost connection, a serialization
   * failure, SQLITE_BUSY.
   *
   * @param fence  the writer's fencing token, `lease.fence`
   * @throws RedlockError `INVALID_ARGUMENT`: the resource is empty, or the token is undefined (fencing is off) or not a
   *   positive safe integer (nothing was sent); or the query function gave something else than rows · `WRONG_KIND`: the table
   *   is missing, has another shape, or stored another number: roll back
   */
  async accepts(query: SqlQuery, resource: string, fence: number | undefined): Promise<boolean> {
    const given = requireFence(resource, fence);
    if (typeof query !== 'function')
      throw invalidArgument('query', query, 'a function (text, params) => rows');
    const stored = await this.#ask(query, this.statement, resource, given);
    if (stored === undefined) return false;
    if (storedDigits(stored.fence) === String(given)) return true;
    throw wrongKind(
      resource,
      `fencing token ${given} for ${show(resource)} came back from ${this.#wanted} as ${show(stored.fence)}`,
    );
  }

  /**
   * Like `accepts`, but rejects for a stale token; the error makes most transaction helpers roll back. A refusal takes a
   * second statement, which reads the highest token for the error's text.
   *
   * @throws RedlockError `STALE_FENCE`: a higher token was accepted · others as `accepts` does
   */
  async check(query: SqlQuery, resource: string, fence: number | undefined): Promise<void> {
    if (await this.accepts(query, resource, fence)) return;
    const given = requireFence(resource, fence);
    const stored = await this.#ask(query, this.#higher, resource, given);
    const highest = storedDigits(stored?.fence);
    if (highest !== undefined) throw staleFence(resource, given, highest);
    // so it was not refused for its age
    const found = stored === undefined ? 'no higher one' : show(stored.fence);
    const text = `fencing token ${given} for ${show(resource)} was not accepted, yet ${this.#wanted} holds ${found}`;
    throw wrongKind(resource, `${text}; does the query function return the rows of RETURNING?`);
  }

  get #wanted(): string {
    return `the table ${this.#table} (resource text PRIMARY KEY, fence bigint NOT NULL)`;
  }

  /** The one row that a statement gave; undefined where it gave none. */
  async #ask(
    query: SqlQuery,
    text: string,
    resource: string,
    fence: number,
  ): Promise<StoredFence | undefined> {
    let result: unknown;
    try {
      result = await query(text, [resource, fence]);
    } catch (error) {
      if (!isAboutShape(error)) throw error;
      throw wrongKind(resource, `${this.#wanted} is expected; the database says: ${messageOf(error)}`, error);
    }
    const rows = rowsOf(result);
    if (rows === undefined || rows.length > 1) {
      const got = rows === undefined ? show(result) : `${rows.length} rows`;
      throw new RedlockError('INVALID_ARGUMENT', `query must return its rows, or { rows }; got ${got}`);
    }
    return rows.length === 0 ? undefined : { fence: fieldOf(rows[0]) };
  }
}

function rowsOf(result: unknown): readonly unknown[] | undefined {
  const rows: unknown =
    typeof result === 'object' && result !== null && 'rows' in result ? result.rows : result;
  return Array.isArray(rows) ? rows : undefined;
}

function fieldOf(row: unknown): unknown {
  if (Array.isArray(row)) return row[0];
  return typeof row === 'object' && row !== null && 'fence' in row ? row.fence : undefined;
}

/** Is it about the table, and not about the connection, the transaction or the rights? */
function isAboutShape(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  return SQLSTATE.test(code) ? SHAPE_STATES.test(code) : SHAPE_TEXTS.test(messageOf(error));
}
