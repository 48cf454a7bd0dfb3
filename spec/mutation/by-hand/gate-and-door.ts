/** Mutants of waiting for a lock that several may hold: at its gate and at its door. */

const GATE = ['spec/line/turnstile-gate.spec.ts'];
const DOOR = ['spec/line/turnstile-door.spec.ts'];

export const GATE_AND_DOOR = [
  {
    name: 'turnstile: who is not the head of the gate claims all the same',
    file: 'lib/line/turnstile.ts',
    find: "const end = await (this.#hasBegun ? this.#queueWait.head() : this.#begin());\n    if (end !== 'reserved') return end;",
    replace: "if (!this.#hasBegun) void this.#begin();\n    const end: QueueWaitEnd = 'reserved';",
    specs: GATE,
  },
  {
    name: 'turnstile: all have the same ticket',
    file: 'lib/line/turnstile.ts',
    find: '        directTtlMs: 0,\n        ticket,',
    replace: '        directTtlMs: 0,\n        ticket: () => 1,',
    specs: GATE,
  },
  {
    name: 'turnstile: who is told that it may come in waits for its time',
    file: 'lib/line/turnstile.ts',
    find: "if (this.#admitting.size >= quorumOf(this.#environment.nodes.length)) this.#proceed('reserved');",
    replace: '',
    specs: DOOR,
  },
  {
    name: 'turnstile: who is at the door looks again when its watch is over',
    file: 'lib/line/turnstile.ts',
    find: 'let freeInMs = WATCH_MS / 2;',
    replace: 'let freeInMs = WATCH_MS;',
    specs: DOOR,
  },
  {
    name: 'turnstile: the end of what is in the way is not looked for',
    file: 'lib/line/turnstile.ts',
    find: 'freeInMs = Math.min(freeInMs, outcome.remainingMs ?? Infinity);',
    replace: '{}',
    specs: DOOR,
  },
  {
    name: 'turnstile: what a master could not be told as one left the gate is forgotten',
    file: 'lib/line/turnstile.ts',
    find: 'onFailed: (node) => this.#owe(node),',
    replace: 'onFailed: () => undefined,',
    specs: DOOR,
  },
  {
    name: 'shared line: the head of the line is watched for by nobody',
    file: 'lib/line/shared-line.ts',
    find: 'const watch = { watcher: this.#theTurnstile.watcher, rank: 0 };',
    replace: 'const watch = undefined;',
    specs: DOOR,
  },
  {
    name: 'shared line: who leaves goes on being watched for',
    file: 'lib/line/shared-line.ts',
    find: 'this.#unwatch();\n    if (this.#turnstile === undefined) return;',
    replace: 'if (this.#turnstile === undefined) return;',
    specs: ['spec/line/shared-line.spec.ts'],
  },
  {
    name: 'shared line: who leaves at the end of its wait is watched for while the next one claims',
    file: 'lib/line/shared-line.ts',
    find: 'this.#unwatch(); // or',
    replace: '// or',
    specs: DOOR,
  },
  {
    name: 'shared line: who leaves keeps its place in line',
    file: 'lib/line/shared-line.ts',
    find: 'if (this.#turnstile === undefined) return;',
    replace: 'return;',
    specs: DOOR,
  },
];
