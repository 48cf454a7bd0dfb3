/**
 * What `npm test -- --all` has beyond `npm test`, in whole files or folders, and why `npm test` can do without: another spec
 * there is about the same rule, or they are about another program than Redis. Within files, see spec/support/breadth.ts.
 */
export const BROAD_SPECS = Object.freeze({
  'spec/chaos/points.spec.ts':
    'every point of an exchange: processes.spec.ts strikes the same operations as they come',
  'spec/chaos/client-faults.spec.ts':
    'pauses, exits and stalls of clients: real/loss.spec.ts and lease/ have their rules',
  'spec/chaos/client-wall.spec.ts': 'wall clocks that step: rule 15 under virtual time',
  'spec/chaos/silent-pushes.spec.ts': 'push connections that die in silence: line/ under virtual time',
  'spec/chaos/kit': 'what the chaos specs and the chaos run are made of',
  'spec/chaos/kit.spec.ts': 'likewise',
  'spec/chaos/run': 'the chaos run: CI runs it by itself',
  'spec/chaos/rolling': 'likewise',
  'spec/dashboard/page.spec.ts': 'the page in a browser: dashboard/dashboard.spec.ts has what it is given',
  'spec/examples': 'the examples: CI runs them by themselves',
  'spec/scripts/release.spec.ts': 'the release, for maintainers',
  'spec/scripts/earlier.spec.ts': 'packages of earlier commits, for maintainers',
  'spec/scripts/parts.spec.ts': 'what specs need: for maintainers',
  'spec/support/breadth.spec.ts': 'which specs are run, for maintainers',
  'spec/scripts/check-api.spec.ts': 'the API report: CI checks it by itself',
  'spec/scripts/check-docs.spec.ts': 'the check of the texts: CI runs it by itself',
  'spec/scripts/masters.spec.ts': 'how masters are started: every spec on real servers does it',
  'spec/bench': 'the bench: CI runs it by itself',
  'spec/mutation': 'the mutation runs, for maintainers',
  'spec/real/crowd.spec.ts': 'thousands at once: coordinator/acquisition-room.spec.ts under virtual time',
  'spec/real/distance.spec.ts': 'round trips: coordinator/node-timeout.spec.ts under virtual time',
  'spec/real/garbled.spec.ts': 'replies that nobody sends: redis/ioredis/screen.spec.ts',
  'spec/real/database.spec.ts': 'databases, by client and way: redis/ioredis/database.spec.ts',
  'spec/real/database-clients.spec.ts': 'the same for clients that switch',
  'spec/real/diagnosis.spec.ts': 'the doctor: diagnosis/ and command/commands.spec.ts have its verdicts',
  'spec/real/timestamp.spec.ts': 'programs of other languages beside timestamp locks',
  'spec/real/languages.spec.ts':
    'programs of other languages beside plain locks: coordinator/ has what a foreign client does to a wait',
  'spec/chaos/languages.spec.ts': 'the same under faults',
  'spec/real/migration.spec.ts': 'moving a fleet from timestamp locks',
  'spec/faces/fleets.spec.ts': 'the packages that fleets come from, at work beside quorate',
  'spec/command/migrate': 'the codemod: no lock is in it',
  'spec/real/setups': 'Sentinel, Cluster, TLS, settings: other ways to reach a master',
  'spec/real/tls.spec.ts': 'likewise',
  'spec/real/clients.spec.ts': 'how clients are set up: redis/ has each rule',
  'spec/redis/ioredis/screen.spec.ts': 'floods of messages: real/contract.spec.ts has the connection',
  'spec/command/terminal.spec.ts': 'a terminal needs script(1)',
  'spec/fence/sql.spec.ts': 'PostgreSQL and SQLite: fence/ has the rule',
  'spec/opentelemetry': 'tracing by another package: telemetry/ has what is told',
  'spec/protocol/lua/shared-batch-scripts.spec.ts':
    'batches of shared locks: in-memory.spec.ts compares them, batch-scripts.spec.ts has the rule',
  'spec/protocol/lua/script-costs.spec.ts': 'what a script costs a master',
});
