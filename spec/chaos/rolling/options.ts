/** The command line of `npm run chaos -- --rolling`. */
import { parseArgs } from 'node:util';
import { type Scenario, SCENARIOS } from './scenarios.js';

export const ROLLING_USAGE = `npm run chaos -- --rolling [OPTIONS]       masters are struck one after another, and nobody loses anything
  --ttl S                        of all leases, in seconds (default: 3)
  --rounds N                     how often each master is struck (default: 1)
  --only NAME,NAME               ${SCENARIOS.map(({ name }) => name).join(', ')} (default: all, side by side)`;

export interface RollingOptions {
  readonly mode: 'run' | 'help';
  readonly ttlMs: number;
  readonly rounds: number;
  readonly scenarios: readonly Scenario[];
}

/** @throws Error that names the option and the value */
export function parseRolling(args: readonly string[]): RollingOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rolling: { type: 'boolean' },
      ttl: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '1' },
      only: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  return {
    mode: values.help === true ? 'help' : 'run',
    ttlMs: whole('ttl', values.ttl, 300) * 1_000,
    rounds: whole('rounds', values.rounds, 10_000),
    scenarios: values.only === undefined ? SCENARIOS : values.only.split(',').map(scenarioOf),
  };
}

function whole(name: string, given: string, most: number): number {
  const value = given === '' ? NaN : Number(given);
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new Error(`--${name} must be a whole number from 1 to ${most}; got ${given}`);
}

function scenarioOf(name: string): Scenario {
  const scenario = SCENARIOS.find((one) => one.name === name);
  if (scenario !== undefined) return scenario;
  throw new Error(`--only names ${SCENARIOS.map((one) => one.name).join(', ')}; got ${name}`);
}
