export type Part =
  | 'git'
  | 'python3'
  | 'perl'
  | 'python3-redis'
  | 'ruby-redis'
  | 'libredis-perl'
  | 'redis-cli'
  | 'libfaketime'
  | 'PostgreSQL'
  | 'prometheus'
  | 'chromium'
  | 'Docker'
  | 'docker compose'
  | 'redis-server'
  | 'setpriv'
  | 'prlimit'
  | 'script'
  | '/proc'
  | 'bench/node_modules';

export declare const PARTS: Readonly<
  Record<Part, { readonly find: () => string | undefined; readonly get: string }>
>;
export declare function find(part: Part): string | undefined;
export declare function sentence(part: Part, specs: number): string;
