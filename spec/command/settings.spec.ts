import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Arguments, readArguments } from '../../lib/command/arguments.js';
import { entryOf } from '../../lib/command/catalogue.js';
import { Failure } from '../../lib/command/failure.js';
import { connect, settingsOf } from '../../lib/command/settings.js';

function argumentsOf(...args: readonly string[]): Arguments {
  const entry = entryOf('status');
  if (entry === undefined) throw new Error('it is in the catalogue');
  return readArguments(entry, args);
}

function failure(work: () => unknown): Failure {
  try {
    work();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('it should have failed');
}

describe('the command: which masters', () => {
  let folder: string;
  before(() => (folder = mkdtempSync(join(tmpdir(), 'quorate-settings-'))));
  after(() => rmSync(folder, { recursive: true }));

  function write(text: string, name = 'settings.json'): string {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  }

  const nowhere = () => ({ XDG_CONFIG_HOME: join(folder, 'none') });

  it('flags before a file, a file before the environment, the environment before the user’s own file', () => {
    const file = write('{"nodes": ["redis://file:1"], "options": {"ttlMs": 5000}}');
    const own = { XDG_CONFIG_HOME: folder };
    write('{"nodes": ["redis://own:1"]}', 'quorate.json');
    const env = { ...own, QUORATE_NODES: 'redis://a:1, redis://b:1,', QUORATE_CONFIG: file };
    const flags = argumentsOf('--node', 'redis://x:1', '--node', 'redis://y:1', '--config', file);
    expect(settingsOf(flags, env)).to.deep.equal({
      masters: ['redis://x:1', 'redis://y:1'],
      options: { ttlMs: 5000 },
      origin: { masters: '--node', options: { path: file } },
    });
    expect(settingsOf(argumentsOf('--config', file), env).masters).to.deep.equal(['redis://file:1']);
    expect(settingsOf(argumentsOf(), env).masters).to.deep.equal(['redis://a:1', 'redis://b:1']);
    expect(settingsOf(argumentsOf(), { ...own, QUORATE_CONFIG: file }).masters).to.deep.equal([
      'redis://file:1',
    ]);
    expect(settingsOf(argumentsOf(), own).masters).to.deep.equal(['redis://own:1']);
  });

  it('--key-prefix stands in place of that in the file', () => {
    const file = write('{"nodes": ["redis://a:1"], "options": {"keyPrefix": "a:", "ttlMs": 5000}}');
    expect(settingsOf(argumentsOf('--config', file, '--key-prefix', 'b:')).options).to.deep.equal({
      keyPrefix: 'b:',
      ttlMs: 5000,
    });
  });

  it('no masters at all: 64, and what to do', () => {
    const { exitCode, message } = failure(() => settingsOf(argumentsOf(), nowhere()));
    expect(exitCode).to.equal(64);
    expect(message).to.match(/^no masters are named: set QUORATE_NODES=.* or start some with quorate up$/);
  });

  const CASES: readonly (readonly [string, string, RegExp])[] = [
    ['no JSON', '{"nodes": ["redis://:sesame@a:1"', /it is not JSON$/],
    ['no object', '[]', /it is not an object$/],
    ['an unknown name', '{"node": []}', /"node" is not a setting: use nodes and options$/],
    ['no nodes', '{"nodes": []}', /nodes must be a list of URLs or options of a client$/],
    ['odd options', '{"nodes": ["redis://a:1"], "options": 5}', /options must be an object$/],
  ];
  for (const [what, text, expected] of CASES) {
    it(`a file with ${what}: 78, its path, and nothing of what is in it`, () => {
      const path = write(text);
      const { exitCode, message } = failure(() => settingsOf(argumentsOf('--config', path)));
      expect(exitCode).to.equal(78);
      expect(message).to.contain(path).and.to.match(expected);
      expect(message).to.not.match(/sesame/);
    });
  }

  it('what the library refuses is told by where it was written: a file by its path, with 78', () => {
    const refused = (...args: readonly string[]): readonly [number, string] => {
      const { exitCode, message } = failure(() => connect(settingsOf(argumentsOf(...args), nowhere())));
      return [exitCode, message];
    };
    const option = write('{"nodes": ["redis://a:1"], "options": {"ttl": 5}}');
    const [code, text] = refused('--config', option);
    expect([
      code,
      text.startsWith(`the settings in ${option} cannot be used: ttl (5) is not an option`),
    ]).to.deep.equal([78, true]);
    expect(refused('--node', 'redis://a:1', '--config', option)[0]).to.equal(78);
    const node = write('{"nodes": ["redis://a:1", "b"]}', 'nodes.json');
    expect(refused('--config', node)).to.deep.equal([
      78,
      `the settings in ${node} cannot be used: nodes[1] must be a redis:// or rediss:// URL, or the path of a socket; got "b"`,
    ]);
    expect(refused('--node', 'foo')).to.deep.equal([
      64,
      '--node must be a redis:// or rediss:// URL, or the path of a socket; got "foo"; see quorate --help',
    ]);
    const twice = refused('--node', 'redis://127.0.0.1:1', '--node', 'redis://127.0.0.1:1');
    expect(twice[1]).to.match(/^the masters must be distinct masters: this host and port is given twice/);
    const { exitCode, message } = failure(() => connect(settingsOf(argumentsOf(), { QUORATE_NODES: 'foo' })));
    expect([exitCode, message.split(';')[0]]).to.deep.equal([
      64,
      'each URL in QUORATE_NODES must be a redis:// or rediss:// URL, or the path of a socket',
    ]);
  });

  it('a file that is not there: 78', () => {
    const { exitCode, message } = failure(() => settingsOf(argumentsOf('--config', '/no/such')));
    expect([exitCode, message]).to.deep.equal([
      78,
      'the settings in /no/such cannot be used: it cannot be read (ENOENT)',
    ]);
  });
});

describe('the command: times', () => {
  const entry = entryOf('run');
  const timeOf = (text: string) => entry && readArguments(entry, ['--ttl', text]).timeMs('ttl');

  it('are a number and a unit', () => {
    expect(['500ms', '10s', '1.5s', '2m', '1h', '0s'].map(timeOf)).to.deep.equal([
      500, 10_000, 1_500, 120_000, 3_600_000, 0,
    ]);
    for (const text of ['10', 's', '-5s', '1d', '1e3s', '', '99999999999999999h'])
      expect(failure(() => timeOf(text)).exitCode, text).to.equal(64);
  });
});
