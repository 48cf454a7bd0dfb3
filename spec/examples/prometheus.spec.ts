/** examples/prometheus: what a real Prometheus makes of it. Each panel's query returns data, and the rules are sound. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse } from 'yaml';
import { type Masters, startMasters } from '../../scripts/masters.js';
import { freePort } from '../../scripts/masters/wait.js';
import { needs } from '../support/parts.js';

const FOLDER = fileURLToPath(new URL('../../examples/prometheus/', import.meta.url));
const LOOK_AGAIN_MS = 250;
const NOT_THERE = 'not there yet';

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}
interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly alert: string; readonly expr: string }[];
  }[];
}
interface Answer {
  readonly status: string;
  readonly errorType?: string;
  readonly data?: { readonly result: readonly unknown[] };
}

const dashboard = JSON.parse(readFileSync(join(FOLDER, 'dashboard.json'), 'utf8')) as {
  readonly panels: readonly Panel[];
};
const rules = parse(readFileSync(join(FOLDER, 'alerts.yml'), 'utf8')) as Rules;

describe('examples/prometheus', function () {
  const children: ChildProcess[] = [];
  let masters: Masters | undefined;
  let folder = '';
  let url = '';

  before(async function () {
    needs(this, 'prometheus', 'redis-server');
    masters = await startMasters(3);
    folder = mkdtempSync(join(tmpdir(), 'quorate-prometheus-'));
    const [metrics, port] = [await freePort(), await freePort()];
    url = `http://127.0.0.1:${port}`;
    const config = readFileSync(join(FOLDER, 'prometheus.yml'), 'utf8');
    writeFileSync(join(folder, 'prometheus.yml'), config.replace('9464', String(metrics)));
    writeFileSync(join(folder, 'alerts.yml'), readFileSync(join(FOLDER, 'alerts.yml')));
    const env = { ...process.env, QUORATE_NODES: masters.urls.join(), METRICS_PORT: String(metrics) };
    const program = ['--import', 'tsx', join(FOLDER, 'main.ts')];
    children.push(spawn(process.execPath, program, { env, stdio: 'ignore' }));
    const flags = [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ];
    children.push(spawn('prometheus', flags, { stdio: 'ignore' }));
  });

  after(async () => {
    for (const child of children) {
      if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit');
    }
    await masters?.stop();
    if (folder !== '') rmSync(folder, { recursive: true, force: true });
  });

  async function ask(query: string): Promise<Answer> {
    const given = query.replaceAll('$__rate_interval', '10s').replaceAll('$__range', '1m');
    try {
      const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(given)}`);
      const answer = (await response.json()) as Answer;
      return answer.errorType === 'unavailable' ? { status: NOT_THERE } : answer;
    } catch {
      return { status: NOT_THERE };
    }
  }

  /** mocha's timeout is the bound, here and below. */
  async function untilAnswered(query: string): Promise<Answer> {
    for (;;) {
      const answer = await ask(query);
      if (answer.status !== NOT_THERE) return answer;
      await sleep(LOOK_AGAIN_MS);
    }
  }

  async function untilData(query: string): Promise<void> {
    for (;;) {
      const { data, status } = await untilAnswered(query);
      if (status !== 'success') throw new Error(`Prometheus does not understand ${query}`);
      if ((data?.result.length ?? 0) > 0) return;
      await sleep(LOOK_AGAIN_MS);
    }
  }

  it('promtool finds nothing wrong in the rules', () => {
    const { status, stderr, stdout } = spawnSync('promtool', ['check', 'rules', join(FOLDER, 'alerts.yml')], {
      encoding: 'utf8',
    });
    expect([status, stderr]).to.deep.equal([0, ''], stdout);
  });

  for (const { targets, title } of dashboard.panels)
    it(`panel ${title}: each query returns data`, async () => {
      for (const { expr } of targets) await untilData(expr);
    });

  for (const { alert, expr } of rules.groups.flatMap((group) => group.rules)) {
    it(`alert ${alert}: what it compares is there`, async () => {
      // of failures that this program has none of, the query has to be sound, and no more
      if (/error_type[!=]/.test(expr)) expect((await untilAnswered(expr)).status).to.equal('success');
      else await untilData(expr.replace(/\s*(<=|==|>)\s*[^=>]*$/, '').replaceAll(/\[\d+m\]/g, '[10s]'));
    });
  }

  it('a lease that was lost wakes somebody', async () => {
    await untilData('ALERTS{alertname="LockLost"}');
  });
});
