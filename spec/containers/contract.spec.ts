import { startChaosMasters } from '../chaos/kit/masters.js';
import { contract } from '../support/contract.js';
import { needs } from '../support/parts.js';
import { ALL_KINDS } from '../support/real.js';
import { realBackend } from '../support/real-backend.js';

describe('containers', () => {
  before(function () {
    needs(this, 'Docker');
  });
  for (const kind of ALL_KINDS) {
    contract(`containers, ${kind.name}`, [5], async (nodes) => {
      const masters = await startChaosMasters(nodes, { backend: 'container' });
      return realBackend({
        ports: masters.list.map(({ directPort }) => directPort),
        connect: (port) => kind.open(port),
        stop: () => masters.stop(),
      });
    });
  }
});
