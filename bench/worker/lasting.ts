/** A process under a load that lasts: works, rests and tells how it stands, and ends by itself when all is closed. */
import type { ClientName } from '../contenders/connection.js';
import { connectorOf } from '../lasting/connect.js';
import { Load } from '../lasting/load.js';
import type { FromLoad, ToLoad } from '../lasting/terms.js';

const [client, ...urls] = process.argv.slice(2);
const load = new Load(urls, await connectorOf(client as ClientName)); // the cast: the run wrote it

process.on('message', ({ kind }: ToLoad) => void carryOut(kind));
process.on('disconnect', () => process.exit(1));

function tell(message: FromLoad): void {
  process.send?.(message);
}

async function carryOut(kind: ToLoad['kind']): Promise<void> {
  switch (kind) {
    case 'work':
      return load.work();
    case 'rest':
      return tell({ kind: 'rested', standing: await load.rest() });
    case 'end':
      await load.end();
      process.removeAllListeners('disconnect');
      process.disconnect();
  }
}

await load.prepare();
tell({ kind: 'ready' });
