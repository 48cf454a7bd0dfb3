import { expect } from 'chai';
import { parseOptions, USAGE } from '../../bench/options.js';

describe('bench: the command line', () => {
  it('without arguments: a full run into bench/results', () => {
    const options = parseOptions([]);
    expect(options).to.include({ isSmoke: false, out: 'bench/results', leases: 10_000 });
  });

  it('--quick and --smoke do less, and only --smoke says that its figures mean nothing', () => {
    const [full, quick, smoke] = [[], ['--quick'], ['--smoke']].map((args) => parseOptions(args));
    const work = (options = full): number =>
      options === undefined ? NaN : options.rounds * options.slices * options.sliceMs;
    expect(work(quick)).to.be.lessThan(work(full));
    expect(work(smoke)).to.be.lessThan(work(quick));
    expect([full, quick, smoke].map((options) => options?.isSmoke)).to.deep.equal([false, false, true]);
  });

  it('--rounds and --out go before what the mode says', () => {
    expect(parseOptions(['--quick', '--rounds', '2', '--out', 'x'])).to.include({ rounds: 2, out: 'x' });
  });

  it('--help gives nothing to run', () => {
    expect(parseOptions(['--help'])).to.equal(undefined);
    expect(parseOptions(['-h'])).to.equal(undefined);
  });

  for (const [args, message] of [
    [['--rounds', '0'], /--rounds.*1 to 100.*"0"/],
    [['--rounds', '2.5'], /--rounds.*"2.5"/],
    [['--rounds', 'many'], /--rounds.*"many"/],
    [['--rounds', '101'], /--rounds.*"101"/],
    [['--rounds'], /--rounds/],
    [['--fast'], /--fast/],
    [['quick'], /quick/],
    [['--quick', '--smoke'], /--quick and --smoke/],
  ] as const) {
    it(`${args.join(' ')} is refused, by name`, () => {
      expect(() => parseOptions(args)).to.throw(message);
    });
  }

  it('the usage names every option', () => {
    for (const name of ['--quick', '--smoke', '--rounds', '--out']) expect(USAGE).to.include(name);
  });
});
