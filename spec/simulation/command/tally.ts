/** The totals of many runs, as text. */
import type { SimulationReport } from '../simulation.js';

export class Tally {
  runs = 0;
  events = 0;
  virtualMs = 0;
  broken = 0;
  readonly #startedMs = performance.now();
  readonly #startedUsage = process.cpuUsage();
  readonly #deeds = new Map<string, number>();
  readonly #faults = new Map<string, number>();

  add({ events, tookMs, broken, deeds, errors, struck }: SimulationReport): void {
    this.runs++;
    this.events += events;
    this.virtualMs += tookMs;
    this.broken += broken;
    for (const [name, times] of [...Object.entries(deeds), ...Object.entries(errors)])
      add(this.#deeds, name, times);
    for (const [kind, times] of Object.entries(struck)) add(this.#faults, kind, times);
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedMs;
  }

  /** One line, while it runs. */
  progress(): string {
    return `${this.runs} runs, ${millions(this.events)} events, ${this.#rate()}, ${(this.elapsedMs / 1_000).toFixed(0)} s`;
  }

  summary(): string {
    const list = (counts: ReadonlyMap<string, number>): string =>
      [...counts]
        .sort(([, one], [, other]) => other - one)
        .map(([name, times]) => `${name} ${times.toLocaleString('en-US')}`)
        .join(' · ');
    const hours = (this.virtualMs / 3_600_000).toFixed(1);
    return [
      `${this.runs.toLocaleString('en-US')} runs, ${millions(this.events)} events, ${hours} h of virtual time, ${this.#rate()}`,
      `done:   ${list(this.#deeds)}`,
      `faults: ${list(this.#faults)}`,
    ].join('\n');
  }

  /** By the time of a core, which other processes on it do not change much. */
  #rate(): string {
    const { system, user } = process.cpuUsage(this.#startedUsage);
    return `${millions((this.events / (system + user)) * 60_000_000)} events a minute and a core`;
  }
}

function add(counts: Map<string, number>, name: string, times: number): void {
  counts.set(name, (counts.get(name) ?? 0) + times);
}

function millions(count: number): string {
  return `${(count / 1e6).toFixed(2)} M`;
}
