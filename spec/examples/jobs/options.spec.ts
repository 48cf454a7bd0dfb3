import { expect } from 'chai';
import { nodesFrom, parseOptions, UsageError } from '../../../examples/jobs/options.js';

describe('examples/jobs: options', () => {
  it('fills in what is not given, with a seed of its own each time', () => {
    const options = parseOptions([], {});
    expect(options).to.include({ jobs: 200, workers: 5, ttlMs: 1_500, output: 'output' });
    expect(options?.nodes).to.deep.equal([]);
    expect(options?.seed).not.to.equal(parseOptions([], {})?.seed);
  });

  it('takes what is given', () => {
    const args = ['--jobs', '60', '--workers=4', '--seed', '0', '--ttl', '600', '--output', 'x'];
    const options = parseOptions(args, { QUORATE_NODES: 'redis://a:1, rediss://b:2' });
    expect(options).to.deep.equal({
      jobs: 60,
      workers: 4,
      seed: 0,
      ttlMs: 600,
      output: 'x',
      nodes: ['redis://a:1', 'rediss://b:2'],
    });
  });

  it('answers --help with nothing to run', () => {
    expect(parseOptions(['--help'], {})).to.equal(undefined);
  });

  const wrong: [string[], string][] = [
    [['--jobs', '29'], '--jobs must be a whole number from 30 to 400; got "29"'],
    [['--jobs', '401'], '--jobs'],
    [['--jobs', '1e2'], '--jobs'],
    [['--jobs', ''], '--jobs'],
    [['--workers', '3'], '--workers must be a whole number from 4 to 12; got "3"'],
    [['--ttl', '-600'], '--ttl'],
    [['--seed', '4294967296'], '--seed'],
    [['--output', ''], '--output must name a folder'],
    [['--what'], '--what'],
    [['more'], 'more'],
    [['--jobs'], '--jobs'],
  ];
  for (const [args, text] of wrong) {
    it(`refuses ${args.join(' ')}`, () => {
      expect(() => parseOptions(args, {})).to.throw(UsageError, text);
    });
  }

  it('refuses QUORATE_NODES that are no urls, without showing them', () => {
    for (const list of ['redis://ok:1,http://user:secret@b', 'localhost:6379', 'redis://']) {
      expect(() => nodesFrom(list), list)
        .to.throw(UsageError, /^QUORATE_NODES must list/)
        .that.has.property('message')
        .that.does.not.contain('secret');
    }
    expect(nodesFrom(' , ')).to.deep.equal([]);
    expect(nodesFrom(undefined)).to.deep.equal([]);
  });
});
