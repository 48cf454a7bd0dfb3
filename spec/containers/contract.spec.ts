import { contract } from '../support/contract.js';
import { CLIENT_KINDS } from '../support/real.js';
import { realBackend } from '../support/real-backend.js';
import { sweep } from './support/docker.js';
import { ContainedMaster } from './support/five-masters.js';

for (const kind of CLIENT_KINDS) {
  contract(`containers, ${kind.name}`, [5], async (nodes) => {
    await sweep();
    const masters = await Promise.all(Array.from({ length: nodes }, () => ContainedMaster.start()));
    return realBackend({
      ports: masters.map(({ port }) => port),
      connect: (port) => kind.open(port),
      stop: sweep,
    });
  });
}
