import { readFileSync } from 'node:fs';
import { PGlite } from '@electric-sql/pglite';
import { expect } from 'chai';
import fc from 'fast-check';
import initSqlJs, { type Database } from 'sql.js';
import { MemoryFence, SqlFence, type SqlFenceOptions, type SqlQuery } from '../../lib/fence/index.js';
import { needs, partOf } from '../support/parts.js';
import { until, rejection, thrown } from '../support/rejection.js';
import { CLOSE_PAIRS, NOW, WRONG_INPUT } from './input.js';
import { Postgres, type Session } from './postgres.js';

const guard = new SqlFence();

/** A database under test, and how its driver is asked. */
interface Kind {
  readonly name: string;
  readonly query: SqlQuery;
  run(text: string): Promise<void>;
  /** The fence of a resource in the table, as a text; undefined where there is none. */
  stored(resource: string, table?: string): Promise<string | undefined>;
}

let pglite: PGlite;
let sqlite: Database;

before(async function () {
  pglite = await PGlite.create();
  sqlite = new (await initSqlJs()).Database();
});
after(async () => {
  sqlite?.close();
  await pglite?.close();
});

const POSTGRES: Kind = {
  name: 'PostgreSQL',
  query: (text, params) => pglite.query(text, params), // { rows }, as node-postgres gives them
  run: async (text) => void (await pglite.exec(text)),
  async stored(resource, table = 'quorate_fences') {
    const text = `SELECT fence::text FROM ${table} WHERE resource = $1`;
    return (await pglite.query<{ fence: string }>(text, [resource])).rows[0]?.fence;
  },
};

const SQLITE: Kind = {
  name: 'SQLite',
  query: (text, params) => sqlite.exec(text, params)[0]?.values ?? [], // rows at once, as arrays
  run: (text) => Promise.resolve(void sqlite.run(text)),
  stored(resource, table = 'quorate_fences') {
    const value = sqlite.exec(`SELECT fence FROM ${table} WHERE resource = $1`, [resource])[0]
      ?.values[0]?.[0];
    return Promise.resolve(value === undefined ? undefined : String(value));
  },
};

/** Counts the statements. */
function counted({ query }: Kind): SqlQuery & { readonly sent: string[] } {
  const sent: string[] = [];
  const counting: SqlQuery = (text, params) => (sent.push(text), query(text, params));
  return Object.assign(counting, { sent });
}

for (const kind of [POSTGRES, SQLITE]) {
  describe(`SqlFence on ${kind.name}`, () => {
    beforeEach(async () => {
      await kind.run('DROP TABLE IF EXISTS quorate_fences');
      await kind.run(guard.createTable);
    });

    it('createTable can be run again, and keeps what is there', async () => {
      await guard.accepts(kind.query, 'r', 5);
      await kind.run(guard.createTable);
      expect(await kind.stored('r')).to.equal('5');
    });

    it('accepts the first fence, the same once more, and any higher one; refuses lower ones', async () => {
      const answers: boolean[] = [];
      for (const fence of [NOW, NOW, NOW + 1, NOW, NOW + 1]) {
        answers.push(await guard.accepts(kind.query, 'r', fence));
      }
      expect(answers).to.deep.equal([true, true, true, false, true]);
      expect(await kind.stored('r')).to.equal(String(NOW + 1));
    });

    for (const [low, high] of CLOSE_PAIRS) {
      it(`after ${high}: refuses ${low}, and the table holds ${high}`, async () => {
        expect(await guard.accepts(kind.query, 'r', low)).to.equal(true);
        expect(await guard.accepts(kind.query, 'r', high)).to.equal(true);
        expect(await guard.accepts(kind.query, 'r', low)).to.equal(false);
        expect(await kind.stored('r')).to.equal(String(high));
      });
    }

    it('resources are apart, and are values, not SQL', async () => {
      for (const resource of ['a', 'A', 'a ', "'; DROP TABLE quorate_fences; --", 'ä ☃ 🔒', '%']) {
        expect(await guard.accepts(kind.query, resource, 9), resource).to.equal(true);
        expect(await guard.accepts(kind.query, resource, 8), resource).to.equal(false);
      }
    });

    it('one statement for each call; a refusal by check reads once more, for its text', async () => {
      const query = counted(kind);
      await guard.accepts(query, 'r', 5);
      await guard.accepts(query, 'r', 4);
      await guard.check(query, 'r', 6);
      expect(query.sent).to.deep.equal([guard.statement, guard.statement, guard.statement]);
      const error = await rejection(guard.check(query, 'r', 4));
      expect(query.sent).to.have.length(5);
      expect([error.code, error.message, error.resources]).to.deep.equal([
        'STALE_FENCE',
        'fencing token 4 for "r" is stale: 6 was accepted.',
        ['r'],
      ]);
    });

    it('a transaction that is rolled back forgets the fencing token with its write', async () => {
      await guard.accepts(kind.query, 'r', 5);
      await kind.run('BEGIN');
      expect(await guard.accepts(kind.query, 'r', 9)).to.equal(true);
      await kind.run('ROLLBACK');
      expect(await guard.accepts(kind.query, 'r', 7)).to.equal(true);
    });

    for (const { title, resource, fence, text } of WRONG_INPUT) {
      it(`${title}: INVALID_ARGUMENT, and nothing is sent: ${text}`, async () => {
        const query = counted(kind);
        for (const call of [guard.accepts(query, resource, fence), guard.check(query, resource, fence)]) {
          const error = await rejection(call);
          expect([error.code, error.message]).to.deep.equal(['INVALID_ARGUMENT', text]);
        }
        expect(query.sent).to.deep.equal([]);
      });
    }

    it('the table is missing: WRONG_KIND that says what is expected, with the database’s error as cause', async () => {
      const other = new SqlFence({ table: 'nowhere' });
      for (const call of [other.accepts(kind.query, 'r', 5), other.check(kind.query, 'r', 5)]) {
        const error = await rejection(call);
        expect(error.code).to.equal('WRONG_KIND');
        expect(error.message).to.contain(
          'the table nowhere (resource text PRIMARY KEY, fence bigint NOT NULL)',
        );
        expect(error.cause).to.be.instanceOf(Error).with.property('message').that.contains('nowhere');
      }
    });

    for (const [what, columns] of [
      ['no column fence', 'resource text PRIMARY KEY, other bigint'],
      ['no column resource', 'fence bigint NOT NULL'],
      ['no key', 'resource text, fence bigint NOT NULL'],
      ['a key of two columns', 'resource text, fence bigint NOT NULL, PRIMARY KEY (resource, fence)'],
      [
        'one more column that must be given',
        'resource text PRIMARY KEY, fence bigint NOT NULL, more text NOT NULL',
      ],
      ['a constraint in the way', 'resource text PRIMARY KEY, fence bigint NOT NULL CHECK (fence < 1000)'],
    ] as const) {
      it(`a table with ${what}: WRONG_KIND, and nothing is written`, async () => {
        await kind.run(`DROP TABLE quorate_fences; CREATE TABLE quorate_fences (${columns})`);
        const error = await rejection(guard.accepts(kind.query, 'r', NOW));
        expect(error.code, error.message).to.equal('WRONG_KIND');
        expect(error.cause).to.be.instanceOf(Error);
      });
    }

    it('schema.table, and a table of another name', async () => {
      await kind.run(kind === POSTGRES ? 'CREATE SCHEMA apart' : "ATTACH ':memory:' AS apart");
      const other = new SqlFence({ table: 'apart.Fences_2' });
      await kind.run(other.createTable);
      expect(await other.accepts(kind.query, 'r', 9)).to.equal(true);
      expect(await other.accepts(kind.query, 'r', 8)).to.equal(false);
      expect((await rejection(other.check(kind.query, 'r', 8))).code).to.equal('STALE_FENCE');
      expect(await kind.stored('r', 'apart.Fences_2')).to.equal('9');
      expect(await kind.stored('r')).to.equal(undefined);
    });

    it('any sequence: the same answers as MemoryFence', async () => {
      const calls = fc.array(
        fc.record({
          resource: fc.constantFrom('a', 'b', 'ä'),
          fence: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: NOW, max: NOW + 5 })),
        }),
        { maxLength: 30 },
      );
      await fc.assert(
        fc.asyncProperty(calls, async (sequence) => {
          await kind.run('DELETE FROM quorate_fences');
          const memory = new MemoryFence();
          for (const { resource, fence } of sequence) {
            expect(await guard.accepts(kind.query, resource, fence)).to.equal(
              memory.accepts(resource, fence),
            );
          }
        }),
        { numRuns: 30 },
      );
    });
  });
}

describe('SqlFence on PostgreSQL: columns of another type', () => {
  const withColumn = async (type: string): Promise<void> =>
    POSTGRES.run(`DROP TABLE IF EXISTS quorate_fences;
      CREATE TABLE quorate_fences (resource text PRIMARY KEY, fence ${type} NOT NULL)`);

  for (const type of [
    'integer',
    'smallint',
    'text',
    'varchar(3)',
    'boolean',
    'timestamptz',
    'jsonb',
    'real',
    'numeric(5)',
  ]) {
    it(`${type}: WRONG_KIND, never accepted`, async () => {
      await withColumn(type);
      expect((await rejection(guard.accepts(POSTGRES.query, 'r', NOW))).code).to.equal('WRONG_KIND');
    });
  }

  for (const type of ['numeric', 'numeric(20)', 'double precision']) {
    it(`${type}: holds every fence, so it serves`, async () => {
      await withColumn(type);
      const answers: boolean[] = [];
      for (const fence of [9, 10, 9, NOW + 1, NOW])
        answers.push(await guard.accepts(POSTGRES.query, 'r', fence));
      expect(answers).to.deep.equal([true, true, false, true, false]);
    });
  }

  it('what others put into the table: no number is refused by name, a number too large is only higher', async () => {
    await withColumn('double precision');
    await POSTGRES.run("INSERT INTO quorate_fences VALUES ('n', 'NaN'), ('h', 0.5), ('b', 5.5)");
    expect(await guard.accepts(POSTGRES.query, 'n', NOW)).to.equal(false);
    expect((await rejection(guard.check(POSTGRES.query, 'n', NOW))).code).to.equal('WRONG_KIND');
    await withColumn('bigint');
    await POSTGRES.run("INSERT INTO quorate_fences VALUES ('r', 9223372036854775807)");
    const error = await rejection(guard.check(POSTGRES.query, 'r', NOW));
    expect(error.message).to.equal(
      `fencing token ${NOW} for "r" is stale: 9223372036854775807 was accepted.`,
    );
  });

  it('a text with a NUL, which PostgreSQL does not take: an error, and nothing is written', async () => {
    await withColumn('bigint');
    expect((await rejection(guard.accepts(POSTGRES.query, 'a\0b', 5))).code).to.equal('WRONG_KIND');
  });
});

describe('SqlFence on SQLite: columns of another type', () => {
  const withColumn = async (type: string): Promise<void> =>
    SQLITE.run(`DROP TABLE IF EXISTS quorate_fences;
      CREATE TABLE quorate_fences (resource text PRIMARY KEY, fence ${type} NOT NULL)`);

  for (const type of ['integer', 'int', 'text', 'real', 'blob', '']) {
    it(`${type === '' ? 'no type' : type}: compares numbers all the same`, async () => {
      await withColumn(type);
      const answers: boolean[] = [];
      for (const fence of [9, 10, 9, NOW + 1, NOW])
        answers.push(await guard.accepts(SQLITE.query, 'r', fence));
      expect(answers).to.deep.equal([true, true, false, true, false]);
    });
  }

  it('a row that holds no number: refused, and check says WRONG_KIND', async () => {
    await withColumn('bigint');
    await SQLITE.run("INSERT INTO quorate_fences VALUES ('r', 'text')");
    expect(await guard.accepts(SQLITE.query, 'r', NOW)).to.equal(false);
    const error = await rejection(guard.check(SQLITE.query, 'r', NOW));
    expect([error.code, error.message]).to.deep.equal([
      'WRONG_KIND',
      `fencing token ${NOW} for "r" was not accepted, yet the table quorate_fences (resource text PRIMARY KEY, ` +
        'fence bigint NOT NULL) holds "text"; does the query function return the rows of RETURNING?',
    ]);
  });
});

describe('SqlFence in docs/FENCING.md', () => {
  it('the SQL to paste is what the guard sends', () => {
    const text = readFileSync(new URL('../../docs/FENCING.md', import.meta.url), 'utf8');
    const pasted = [...text.matchAll(/```sql\n(.*?)\n```/gs)].map(([, sql]) => sql);
    expect(pasted).to.deep.equal([guard.createTable, guard.statement]);
  });
});

describe('SqlFence and the query function', () => {
  const gives = (result: unknown) => (): unknown => result;

  for (const [what, rows] of [
    ['rows, fence a text, as node-postgres gives a bigint', [{ fence: '5' }]],
    ['rows, fence a number', [{ fence: 5 }]],
    ['rows, fence a bigint', [{ fence: 5n }]],
    ['{ rows }', { rows: [{ fence: '5' }], rowCount: 1 }],
    ['rows that are arrays', [['5']]],
    ['a promise', Promise.resolve([{ fence: '5' }])],
  ] as const) {
    it(`${what}: accepted`, async () => {
      expect(await guard.accepts(gives(rows), 'r', 5)).to.equal(true);
    });
  }

  for (const rows of [[], { rows: [] }]) {
    it(`${JSON.stringify(rows)}: stale`, async () => {
      expect(await guard.accepts(gives(rows), 'r', 5)).to.equal(false);
    });
  }

  for (const result of [
    undefined,
    null,
    true,
    1,
    'x',
    {},
    { changes: 1 },
    { fence: 5 },
    [[{ fence: 5 }], {}],
    { rows: 1 },
  ]) {
    it(`${JSON.stringify(result) ?? 'undefined'}: INVALID_ARGUMENT, never accepted`, async () => {
      const error = await rejection(guard.accepts(gives(result), 'r', 5));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(/^query must return its rows, or \{ rows \}; got /);
    });
  }

  for (const fence of [4, 6, '05', '5.0', '5 ', 5.5, NaN, null, undefined, true, {}, ['5'], new Date(5)]) {
    it(`a row whose fence is ${String(fence)} (${typeof fence}): WRONG_KIND, never accepted`, async () => {
      for (const row of [{ fence }, [fence]]) {
        const error = await rejection(guard.accepts(gives([row]), 'r', 5));
        expect(error.code).to.equal('WRONG_KIND');
        expect(error.message).to.contain('fencing token 5 for "r" came back from the table quorate_fences');
      }
    });
  }

  for (const row of [undefined, null, 5, '5', { FENCE: 5 }]) {
    it(`a row that is ${JSON.stringify(row) ?? 'undefined'}: WRONG_KIND, never accepted`, async () => {
      expect((await rejection(guard.accepts(gives([row]), 'r', 5))).code).to.equal('WRONG_KIND');
    });
  }

  it('a driver that drops the rows of RETURNING: check finds it out', async () => {
    const query: SqlQuery = () => [];
    const error = await rejection(guard.check(query, 'r', 5));
    expect([error.code, /does the query function return the rows/.test(error.message)]).to.deep.equal([
      'WRONG_KIND',
      true,
    ]);
  });

  it('what is about the connection, the transaction or the rights comes through as it is', async () => {
    const codes = [
      '40001',
      '40P01',
      '25P02',
      '42501',
      '57P01',
      '08006',
      '53300',
      'ECONNRESET',
      'SQLITE_BUSY',
      undefined,
    ];
    for (const code of codes) {
      const failure = Object.assign(new Error('could not serialize access due to concurrent update'), {
        code,
      });
      const seen: unknown = await guard
        .check(() => Promise.reject(failure), 'r', 5)
        .catch((error: unknown) => error);
      expect(seen, code).to.equal(failure);
    }
    const odd: unknown = await guard
      .accepts(() => Promise.reject('odd'), 'r', 5)
      .catch((error: unknown) => error);
    expect(odd).to.equal('odd');
  });

  it('a query that is no function: INVALID_ARGUMENT', async () => {
    for (const query of [undefined, {}, 'SELECT 1']) {
      const error = await rejection(guard.accepts(query as unknown as SqlQuery, 'r', 5));
      expect([error.code, error.message.startsWith('query must be a function')]).to.deep.equal([
        'INVALID_ARGUMENT',
        true,
      ]);
    }
  });

  for (const table of [
    '',
    'a b',
    'a;b',
    'a"b',
    '1a',
    'a.b.c',
    '.a',
    'a.',
    'ä',
    "x'",
    'a--',
    'a\n',
    'x'.repeat(64),
    5,
    null,
  ]) {
    it(`table ${JSON.stringify(table)}: INVALID_ARGUMENT`, () => {
      const error = thrown(() => new SqlFence({ table } as SqlFenceOptions));
      expect(error.code).to.equal('INVALID_ARGUMENT');
      expect(error.message).to.match(
        /^table must be a plain name or schema\.name, of letters, digits and _; got /,
      );
    });
  }

  for (const options of [null, [], { name: 'x' }]) {
    it(`options ${JSON.stringify(options)}: INVALID_ARGUMENT`, () => {
      expect(thrown(() => new SqlFence(options as SqlFenceOptions)).message).to.match(
        /^options must be |is not an option here/,
      );
    });
  }
});

describe('SqlFence, two connections of a PostgreSQL server', () => {
  let server: Postgres | undefined;
  let first: Session;
  let second: Session;
  let onlooker: Session;

  before(async function () {
    needs(this, 'PostgreSQL'); // PGlite has one connection only
    server = new Postgres(partOf('PostgreSQL') ?? '');
    await server.start();
    [first, second, onlooker] = [server.connect(), server.connect(), server.connect()];
    await first.run(guard.createTable);
  });
  after(async () => {
    for (const session of [first, second, onlooker]) await session?.close();
    await server?.stop();
  });
  beforeEach(() => first.run('DELETE FROM quorate_fences'));

  /** Resolves when one connection waits for a lock of the other. */
  const oneWaits = (): Promise<void> =>
    until(async () => {
      const [count] = await onlooker.run(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
      );
      return count === '1';
    });

  for (const isThere of [false, true]) {
    const title = isThere ? 'the row is there' : 'the row is new';
    it(`${title}: the lower fence waits for the higher one’s transaction, and is refused when that commits`, async () => {
      if (isThere) await guard.accepts(first.query, 'r', 1);
      await first.run('BEGIN');
      expect(await guard.accepts(first.query, 'r', 5)).to.equal(true);
      const late = guard.accepts(second.query, 'r', 4);
      await oneWaits();
      await first.run('COMMIT');
      expect(await late).to.equal(false);
    });

    it(`${title}: …and is accepted when that is rolled back`, async () => {
      if (isThere) await guard.accepts(first.query, 'r', 1);
      await first.run('BEGIN');
      expect(await guard.accepts(first.query, 'r', 5)).to.equal(true);
      const late = guard.accepts(second.query, 'r', 4);
      await oneWaits();
      await first.run('ROLLBACK');
      expect(await late).to.equal(true);
    });
  }

  it('the higher one waits for the lower one’s transaction, so their writes come in the order of the fences', async () => {
    await first.run('BEGIN');
    expect(await guard.accepts(first.query, 'r', 4)).to.equal(true);
    await second.run('BEGIN');
    const next = guard.accepts(second.query, 'r', 5);
    await oneWaits();
    await first.run('COMMIT');
    expect(await next).to.equal(true);
    await second.run('COMMIT');
    expect(await guard.accepts(first.query, 'r', 4)).to.equal(false);
  });

  it('a refused one holds the row as well, until its transaction ends', async () => {
    await guard.accepts(first.query, 'r', 5);
    await first.run('BEGIN');
    expect(await guard.accepts(first.query, 'r', 4)).to.equal(false);
    const next = guard.accepts(second.query, 'r', 6);
    await oneWaits();
    await first.run('ROLLBACK');
    expect(await next).to.equal(true);
  });

  it('under REPEATABLE READ the one that waited fails with 40001, as it is: to be tried again by the caller', async () => {
    await guard.accepts(first.query, 'r', 1);
    await second.run('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await second.run('SELECT 1 FROM quorate_fences');
    expect(await guard.accepts(first.query, 'r', 5)).to.equal(true);
    const failure: unknown = await guard.accepts(second.query, 'r', 4).catch((error: unknown) => error);
    expect(failure).to.have.property('code', '40001');
    await second.run('ROLLBACK');
    expect(await guard.accepts(second.query, 'r', 4)).to.equal(false);
  });

  it('300 writes by two connections at once: what each wrote is in the order of its fences', async () => {
    await first.run('CREATE TABLE writes (place bigserial, fence bigint)');
    const write = async (session: Session, fence: number): Promise<void> => {
      await session.run('BEGIN');
      const isAccepted = await guard.accepts(session.query, 'w', fence);
      if (isAccepted) await session.run(`INSERT INTO writes (fence) VALUES (${fence})`);
      await session.run(isAccepted ? 'COMMIT' : 'ROLLBACK');
    };
    const works = async (session: Session, step: number): Promise<void> => {
      for (let i = 0; i < 150; i++) await write(session, NOW + i * step);
    };
    await Promise.all([works(first, 3), works(second, 2)]);
    const fences = (await first.run('SELECT fence FROM writes ORDER BY place')).map(Number);
    expect(fences).to.deep.equal([...fences].sort((a, b) => a - b));
    expect(fences.at(-1)).to.equal(NOW + 149 * 3);
  });
});
