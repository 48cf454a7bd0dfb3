/** A process that starts two masters, freezes one, tells where they are, and then ends in the way it is told. */
import { startMasters } from '../../scripts/masters.js';
import { ask } from '../../scripts/masters/wait.js';

const [, , ending] = process.argv;
const masters = await startMasters(2, { backend: 'process' });
const [first, second] = masters.list;
if (first === undefined || second === undefined) throw new Error('two masters were asked for');
const folder = /\r\n(\/.*)\r\n/.exec(await ask(first.port, 'CONFIG GET dir', 1_000))?.[1];

if (ending === 'own handler') {
  process.once('SIGINT', () => void tellAndExit());
}
await second.freeze();
process.stdout.write(`${JSON.stringify({ ports: masters.list.map((master) => master.port), folder })}\n`);

switch (ending) {
  case 'exit':
    process.exit(0);
    break;
  case 'error':
    throw new Error('nobody catches this');
  case 'idle':
    break; // nothing left to do: the masters do not keep the process
  default:
    process.stdin.resume(); // waits for a signal
}

/** What a caller's own handler does must still find the masters alive. */
async function tellAndExit(): Promise<void> {
  const reply = first === undefined ? 'no master' : await ask(first.port, 'PING', 1_000);
  process.stdout.write(`own handler: ${reply}`);
  process.exit(3);
}
