/**
 * A real PostgreSQL server, where this machine has one, for what one connection cannot show. Its client is psql: a
 * session for each process.
 */
import { type ChildProcessWithoutNullStreams as Child, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { atExit } from '../../scripts/masters/at-exit.js';

const NOBODY = 65_534;

export class Postgres {
  readonly #bin: string;
  readonly #root = mkdtempSync(join(tmpdir(), 'quorate-postgres-'));
  /** A server that is root refuses to start. */
  readonly #user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  #server: Child | undefined;
  readonly #forget = atExit(() => {
    this.#server?.kill('SIGQUIT');
    rmSync(this.#root, { recursive: true, force: true });
  });

  /** @param bin the folder with the server's programs */
  constructor(bin: string) {
    this.#bin = bin;
    if (process.getuid?.() === 0) chownSync(this.#root, NOBODY, NOBODY);
  }

  async start(): Promise<void> {
    const data = join(this.#root, 'data');
    const options = { cwd: this.#root, encoding: 'utf8', ...this.#user } as const;
    const init = ['-D', data, '-U', 'spec', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    const { status, stderr } = spawnSync(join(this.#bin, 'initdb'), init, options);
    if (status !== 0) throw new Error(`initdb failed: ${stderr}`);
    const settings = [
      '-c',
      'listen_addresses=',
      '-c',
      'fsync=off',
      '-c',
      `unix_socket_directories=${this.#root}`,
    ];
    this.#server = spawn(join(this.#bin, 'postgres'), ['-D', data, ...settings], {
      cwd: this.#root,
      ...this.#user,
    });
    const log = createInterface(this.#server.stderr);
    for await (const line of log) if (line.includes('ready to accept connections')) break;
    this.#server.stderr.resume();
  }

  connect(): Session {
    const target = ['-h', this.#root, '-U', 'spec', '-d', 'postgres'];
    return new Session(spawn(join(this.#bin, 'psql'), ['-X', '-q', '-A', '-t', ...target]));
  }

  async stop(): Promise<void> {
    if (this.#server !== undefined && this.#server.exitCode === null) {
      this.#server.kill('SIGQUIT'); // at once, without waiting for sessions
      await once(this.#server, 'exit');
    }
    rmSync(this.#root, { recursive: true, force: true });
    this.#forget();
  }
}

/** One connection. What the server refuses is thrown. */
export class Session {
  readonly #psql: Child;
  readonly #connections: Interface;
  readonly #inbox: string[] = [];
  #asked = 0;

  constructor(psql: Child) {
    this.#psql = psql;
    this.#connections = createInterface(psql.stdout);
    this.#connections.on('line', (line) => this.#inbox.push(line));
    psql.stderr.resume();
  }

  /** The rows, each as its fields' texts joined by `|`. The SQLSTATE of a failure is the error's `code`. */
  async run(text: string): Promise<string[]> {
    const end = `-- ${++this.#asked}`;
    this.#psql.stdin.write(`${text};\n\\echo :SQLSTATE\n\\echo '${end}'\n`);
    while (!this.#inbox.includes(end)) await once(this.#connections, 'line');
    const rows = this.#inbox.splice(0, this.#inbox.indexOf(end) + 1).slice(0, -1);
    const code = rows.pop();
    if (code !== '00000') throw Object.assign(new Error(`PostgreSQL says ${code}`), { code });
    return rows;
  }

  /** With parameters, as a prepared statement of the server's own. */
  query = async (text: string, params: readonly (string | number)[]): Promise<string[][]> => {
    const name = `p${this.#asked}`;
    const values = params.map((param) => (typeof param === 'string' ? `'${param}'` : String(param)));
    await this.run(`PREPARE ${name} AS ${text}`);
    return (await this.run(`EXECUTE ${name}(${values.join(', ')})`)).map((row) => row.split('|'));
  };

  async close(): Promise<void> {
    this.#psql.stdin.end();
    if (this.#psql.exitCode === null) await once(this.#psql, 'exit');
  }
}
