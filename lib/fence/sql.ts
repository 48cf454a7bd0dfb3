/**
 * The guard whose memory is a table beside the data that it guards: PostgreSQL, or SQLite from 3.35 on.
 *
 * In one transaction with the write it guards, check and effect are one step: INSERT … ON CONFLICT DO UPDATE locks the
 * resource's row, whether it updates it or not, until that transaction ends; another one waits there and then compares
 * with what was committed. What can go wrong: another transaction, or none (a pause fits between two statements), and
 * rows that were deleted (they accept late writes again).
 */
import { invalidArgument, RedlockError, show } from '../runtime/errors.js';
import { checkNames } from '../input/option-names.js';
import { messageOf, requireFence, staleFence, storedDigits, wrongKind } from './refusal.js';

/**
 * Runs one statement in the caller's transaction, always with two parameters, `params[0]` for `$1` and `params[1]` for
 * `$2`, and gives its rows, or an object that has them as `rows`, or a promise of either. A row is an object by column
 * names, or an array.
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
 * Remembers in a table of the database that holds the data, one row for each resource, for ever.
 *
 * @example
 * ```ts
 * const guard = new SqlFence();
 * await pool.query(guard.createTable); // once
 *
 * await client.query('BEGIN');
 * await guard.check((text, params) => client.query(text, params), 'account:1', lease.fence);
 * await client.query('UPDATE accounts SET …');
 * await client.query('COMMIT'); // and ROLLBACK if any of it threw
 * ```
 */
export class SqlFence {
  /** Creates the table if it is missing: `resource` text, the key, and `fence` bigint. */
  readonly createTable: string;
  /**
   * One statement, the same for PostgreSQL and SQLite: `$1` is the resource, `$2` the fence. One row, with the fence, when
   * it is accepted; none when it is stale.
   */
  readonly statement: string;
  readonly #higher: string;
  readonly #table: string;

  /** @throws RedlockError `INVALID_ARGUMENT` for a table that is no plain name */
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
   * True: go on, and the fence is remembered when the transaction commits. False: a higher fence was accepted for the
   * resource, so this one's lease is over. The same fence is accepted again: one holder writes several times. One
   * statement.
   *
   * @throws RedlockError `INVALID_ARGUMENT` for an empty resource, or a fence that is undefined (fencing is off) or no
   * positive safe integer, before anything is sent; and for a query function that gives no rows. `WRONG_KIND` when the
   * table is missing or of another shape, or stores another number: roll back. What else the query function throws
   * (a lost connection, a serialization failure, SQLITE_BUSY) comes through as it is.
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
      `fence ${given} for ${show(resource)} came back from ${this.#wanted} as ${show(stored.fence)}`,
    );
  }

  /**
   * The same, for those who would rather have an error; it rolls most transaction helpers back. A refusal costs a second
   * statement, which reads the highest fence for the error's text.
   *
   * @throws RedlockError `STALE_FENCE` when a higher fence was accepted; the others as `accepts`
   */
  async check(query: SqlQuery, resource: string, fence: number | undefined): Promise<void> {
    if (await this.accepts(query, resource, fence)) return;
    const given = requireFence(resource, fence);
    const stored = await this.#ask(query, this.#higher, resource, given);
    const highest = storedDigits(stored?.fence);
    if (highest !== undefined) throw staleFence(resource, given, highest);
    // so it was not refused for its age
    const found = stored === undefined ? 'no higher one' : show(stored.fence);
    const text = `fence ${given} for ${show(resource)} was not accepted, yet ${this.#wanted} holds ${found}`;
    throw wrongKind(resource, `${text}; does the query function give the rows of RETURNING?`);
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
      throw new RedlockError('INVALID_ARGUMENT', `query must give its rows, or { rows }; got ${got}`);
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
