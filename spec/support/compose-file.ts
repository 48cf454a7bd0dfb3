/** docker-compose.redlock.yml as the specs look at it: what its text says, once the anchors are resolved. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const COMPOSE_FILE = fileURLToPath(new URL('../../docker-compose.redlock.yml', import.meta.url));

export interface Service {
  readonly image: string;
  readonly command: readonly string[];
  readonly ports: readonly string[];
  readonly volumes: readonly string[];
  readonly init?: boolean;
  readonly restart?: string;
  readonly stop_grace_period?: string;
  readonly healthcheck?: { readonly test: readonly string[] };
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

export function readComposeFile(): ComposeFile {
  return parse(readFileSync(COMPOSE_FILE, 'utf8'), { merge: true }) as ComposeFile;
}

/** What a lock needs of a master; docs/OPERATION.md gives the reasons. */
export const LOCK_SETTINGS: Readonly<Record<string, string>> = {
  'maxmemory-policy': 'noeviction',
  appendonly: 'yes',
  appendfsync: 'always',
  'no-appendfsync-on-rewrite': 'no',
  save: '',
};

/** The server settings of a service's command line: `--name value` pairs after the program. */
export function settingsOf(service: Service): Record<string, string> {
  const [program, ...args] = service.command;
  if (program !== 'redis-server') throw new Error(`the command is ${program}`);
  const settings: Record<string, string> = {};
  for (let i = 0; i < args.length; i += 2)
    settings[(args[i] ?? '').replace(/^--/, '')] = args[i + 1] ?? 'nothing';
  return settings;
}
