import { expect } from 'chai';
import { NAMES } from '../../bench/contenders/index.js';
import { parseOptions, USAGE } from '../../bench/options.js';
import { PLANS, SCENARIOS } from '../../bench/plan.js';

describe('bench: the command line', () => {
  it('without arguments: a full run of everything into bench/results, and nothing is published', () => {
    const options = parseOptions([]);
    expect(options).to.include({ mode: 'full', out: 'bench/results', publish: false, from: undefined });
    expect(options?.plan).to.deep.equal(PLANS.full);
    expect(options?.scenarios).to.deep.equal(SCENARIOS);
    expect(options?.contenders).to.deep.equal(NAMES);
  });

  it('--quick and --smoke do less', () => {
    const [full = NaN, quick = NaN, smoke = NaN] = [[], ['--quick'], ['--smoke']].map((args) => {
      const { rounds, slices, sliceMs } = parseOptions(args)?.plan ?? PLANS.full;
      return rounds * slices * sliceMs;
    });
    expect(quick).to.be.lessThan(full);
    expect(smoke).to.be.lessThan(quick);
  });

  it('--quick leaves contenders out, but neither ours nor the floor of the ratios', () => {
    const { contenders = [] } = parseOptions(['--quick']) ?? {};
    expect(contenders.length).to.be.lessThan(NAMES.length);
    expect(contenders).to.include.members(['quorate', 'quorate-plain', 'floor-quorum']);
  });

  it('--rounds and --out go before what the mode says', () => {
    const options = parseOptions(['--quick', '--rounds', '2', '--out', 'x']);
    expect(options?.out).to.equal('x');
    expect(options?.plan.rounds).to.equal(2);
  });

  it('--rounds never adds rounds to the scenarios that take long', () => {
    expect(parseOptions(['--rounds', '2'])?.plan).to.include({
      ...{ faultRounds: 2, contentionRounds: 2, mingleRounds: 2, refusalRounds: 2, burstRounds: 2 },
    });
    const { faultRounds, contentionRounds } = PLANS.full;
    expect(parseOptions(['--rounds', '100'])?.plan).to.include({ faultRounds, contentionRounds });
  });

  it('--only and --contenders choose, in the order of the report', () => {
    const options = parseOptions(['--only', 'memory, sequential', '--contenders', 'redlock5,quorate']);
    expect(options?.scenarios).to.deep.equal(['sequential', 'memory']);
    expect(options?.contenders).to.deep.equal(['quorate', 'redlock5']);
  });

  it('--client: ioredis unless another one is named, which leaves out what needs ioredis', () => {
    expect(parseOptions([])?.client).to.equal('ioredis');
    const { client, contenders = [] } = parseOptions(['--client', 'redis']) ?? {};
    expect(client).to.equal('redis');
    expect(parseOptions(['--lasting', '--client', 'redis'])?.client).to.equal('redis');
    expect(contenders).to.include.members(['quorate', 'quorate-plain', 'floor-quorum', 'floor-whole']);
    expect(contenders.filter((name) => ['redlock5', 'floor-pipelining'].includes(name))).to.deep.equal([]);
  });

  it('--lasting takes minutes: half an hour, if none are named', () => {
    expect(parseOptions([])?.lastingMinutes).to.equal(undefined);
    expect(parseOptions(['--lasting'])?.lastingMinutes).to.equal(30);
    expect(parseOptions(['--lasting', '--minutes', '3'])?.lastingMinutes).to.equal(3);
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
    [['--minutes', '5'], /--minutes needs --lasting/],
    [['--lasting', '--minutes', '2'], /--minutes.*3 to 1440.*"2"/],
    [['--lasting', '--minutes', '3.5'], /--minutes.*"3.5"/],
    [['--lasting', '--smoke'], /--lasting excludes/],
    [['--fast'], /--fast/],
    [['quick'], /quick/],
    [['--quick', '--smoke'], /--quick and --smoke/],
    [['--only', 'sequential,speed'], /--only.*sequential.*"speed"/],
    [['--only', ''], /--only.*""/],
    [['--contenders', 'redlock6'], /--contenders.*redlock5.*"redlock6"/],
    [['--client', 'valkey'], /--client.*ioredis, redis, @valkey\/valkey-glide.*"valkey"/],
    [['--client', ''], /--client.*""/],
    [['--client', 'redis', '--contenders', 'quorate,redlock5'], /--client redis.*redlock5/],
    [['--publish', '--client', 'redis'], /--publish.*--client/],
    [['--publish', '--smoke'], /--publish.*--smoke/],
    [['--publish', '--only', 'memory'], /--publish.*--only/],
    [['--publish', '--contenders', 'quorate'], /--publish.*--contenders/],
  ] as const) {
    it(`${args.join(' ')} is refused, by name`, () => {
      expect(() => parseOptions(args)).to.throw(message);
    });
  }

  it('the usage names every option, every scenario and every contender', () => {
    const options = [
      '--quick',
      '--smoke',
      '--only',
      '--contenders',
      '--client',
      '--rounds',
      '--out',
      '--from',
      '--publish',
    ];
    for (const name of [...options, ...SCENARIOS, ...NAMES]) expect(USAGE).to.include(name);
  });
});
