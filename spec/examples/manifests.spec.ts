/** The examples for Kubernetes, systemd and cron: valid by their schemas, and of one mind with the command and the docs. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { StatefulSet } from 'kubernetes-models/apps/v1/StatefulSet';
import { CronJob } from 'kubernetes-models/batch/v1/CronJob';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Secret } from 'kubernetes-models/v1/Secret';
import { Service } from 'kubernetes-models/v1/Service';
import { parseAllDocuments } from 'yaml';
import { type Arguments, readArguments } from '../../lib/command/arguments.js';
import { entryOf } from '../../lib/command/catalogue.js';
import { settingsOf } from '../../lib/command/settings.js';

const KINDS = { StatefulSet, CronJob, PodDisruptionBudget, Secret, Service };
type Kind = keyof typeof KINDS;

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

interface Named {
  readonly name: string;
  readonly value?: string;
}

interface PodSpec {
  readonly containers: readonly [
    {
      readonly command: readonly string[];
      readonly args: readonly string[];
      readonly env: readonly Named[];
      readonly volumeMounts: readonly [Named];
    },
  ];
  readonly affinity: {
    readonly podAntiAffinity: {
      readonly requiredDuringSchedulingIgnoredDuringExecution: readonly [
        { readonly topologyKey: string; readonly labelSelector: { readonly matchLabels: object } },
      ];
    };
  };
}

/** What the specs read of an object. */
interface Manifest {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: Named;
  readonly spec: {
    readonly replicas: number;
    readonly serviceName: string;
    readonly maxUnavailable: number;
    readonly selector: object;
    readonly volumeClaimTemplates: readonly { readonly metadata: Named }[];
    readonly template: { readonly metadata: { readonly labels: object }; readonly spec: PodSpec };
    readonly jobTemplate: { readonly spec: { readonly template: { readonly spec: PodSpec } } };
  };
}

/** The objects of a manifest, whose shapes the schemas check. */
function objectsOf(path: string): readonly Manifest[] {
  return parseAllDocuments(read(path)).map((document) => {
    expect(document.errors).to.deep.equal([]);
    return document.toJS() as Manifest;
  });
}

function objectOf(path: string, wanted: Kind): Manifest {
  const found = objectsOf(path).find(({ kind }) => kind === wanted);
  if (found === undefined) throw new Error(`${path} has no ${wanted}`);
  return found;
}

/** Throws for what the API's schema does not allow. */
function validate(object: Pick<Manifest, 'kind' | 'apiVersion'> & { readonly spec?: object }): void {
  const Model = KINDS[object.kind as Kind]; // an unknown kind fails below
  const model = new Model(object as never); // whether it is one is what is asked
  expect(model.apiVersion, object.kind).to.equal(object.apiVersion);
  model.validate();
}

/** The flags of a `quorate run`, read as the command reads them, and the command behind them. */
function runOf(words: readonly string[]): { readonly args: Arguments; readonly command: readonly string[] } {
  const entry = entryOf('run');
  const end = words.indexOf('--');
  if (entry === undefined || end < 0) throw new Error(`no run: ${words.join(' ')}`);
  return { args: readArguments(entry, words.slice(0, end)), command: words.slice(end + 1) };
}

const MASTERS = 'examples/kubernetes/masters.yaml';
const masterSet = (): Manifest => objectOf(MASTERS, 'StatefulSet');
const cronJob = objectOf('examples/kubernetes/cronjob.yaml', 'CronJob');

describe('examples: Kubernetes', () => {
  for (const path of ['masters', 'cronjob'].map((name) => `examples/kubernetes/${name}.yaml`)) {
    it(`${path} passes the API's schemas`, () => {
      const objects = objectsOf(path);
      expect(objects).to.not.deep.equal([]);
      for (const object of objects) validate(object);
    });
  }

  it('the schemas notice what is wrong', () => {
    const set = masterSet();
    expect(() => validate({ ...set, spec: { ...set.spec, replicas: 'five' } })).to.throw();
    expect(() => validate({ ...set, spec: { ...set.spec, selector: undefined } })).to.throw();
    expect(() => validate({ ...cronJob, spec: { ...cronJob.spec, schedule: undefined } })).to.throw();
  });

  it('five masters, each on a node and a disk of its own, one down at a time', () => {
    const { spec } = masterSet();
    expect(spec.replicas).to.equal(5);
    const [term] = spec.template.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution;
    expect(term.topologyKey).to.equal('kubernetes.io/hostname');
    expect(term.labelSelector.matchLabels).to.deep.equal(spec.template.metadata.labels);
    const [mount] = spec.template.spec.containers[0].volumeMounts;
    expect(spec.volumeClaimTemplates.map(({ metadata }) => metadata.name)).to.deep.equal([mount.name]);
    const budget = objectOf(MASTERS, 'PodDisruptionBudget');
    expect(budget.spec.maxUnavailable).to.equal(1);
    expect(budget.spec.selector).to.deep.equal(spec.selector);
  });

  it('the masters are set as docs/OPERATION.md says', () => {
    const { args } = masterSet().spec.template.spec.containers[0];
    const wanted = [...read('docs/OPERATION.md').matchAll(/^\| `([\w-]+)` +\| `([^`]*)` +\| /gm)].filter(
      ([, name = '']) =>
        ['maxmemory-policy', 'appendonly', 'appendfsync', 'no-appendfsync-on-rewrite', 'save'].includes(name),
    );
    expect(wanted).to.have.length(5);
    for (const [, name, value = ''] of wanted)
      expect(args[args.indexOf(`--${name}`) + 1], name).to.equal(value.replaceAll('"', ''));
  });

  it('the CronJob names all of them, and its flags are those of quorate run', () => {
    const [container] = cronJob.spec.jobTemplate.spec.template.spec.containers;
    const { args, command } = runOf(container.args.slice(1));
    expect([container.command, container.args[0], args.name(), command]).to.deep.equal([
      ['quorate'],
      'run',
      'nightly-report',
      ['/app/report'],
    ]);
    const value = container.env.find(({ name }) => name === 'QUORATE_NODES')?.value;
    const { masters: nodes } = settingsOf(args, { QUORATE_NODES: value });
    const { metadata, spec } = masterSet();
    const hosts = Array.from(
      { length: spec.replicas },
      (_, i) => `${metadata.name}-${i}.${spec.serviceName}`,
    );
    expect(nodes).to.deep.equal(hosts.map((host) => `redis://:$(REDIS_PASSWORD)@${host}:6379`));
  });
});

describe('examples: systemd and cron', () => {
  it('the unit starts a run whose flags are known, and gives it time to end', () => {
    const unit = read('examples/systemd/quorate-worker.service');
    const words = (/^ExecStart=\S+ run (.*)$/m.exec(unit)?.[1] ?? '').split(' ');
    const { args, command } = runOf(words);
    expect([args.name(), command]).to.deep.equal(['worker', ['/usr/local/bin/worker']]);
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) * 1_000).to.be.greaterThan(
      args.timeMs('kill-after') ?? Infinity,
    );
    expect(unit).to.match(/^KillMode=mixed$/m);
  });

  it('each line of the crontab is a run whose flags are known', () => {
    const lines = [...read('examples/cron/crontab').matchAll(/^(?:\S+ ){5}quorate run (.*)$/gm)];
    expect(lines).to.have.length(2);
    for (const [, words = ''] of lines) {
      const { args, command } = runOf(words.split(' '));
      expect(args.name()).to.not.equal('');
      expect(command).to.not.deep.equal([]);
    }
  });
});
