/** Docker for the specs: what is needed beyond starting a container, and a sweep of what an earlier run left behind. */
import type Dockerode from 'dockerode';
import { getContainerRuntimeClient } from 'testcontainers';

/** Every container of these specs carries this label; its value is the process that started it. */
export const LABEL = 'quorate.spec';

export async function engine(): Promise<Dockerode> {
  return (await getContainerRuntimeClient()).container.dockerode;
}

/** Removes the containers of our label whose process is gone, and our own. */
export async function sweep(): Promise<void> {
  const docker = await engine();
  const containers = await docker.listContainers({ all: true, filters: { label: [LABEL] } });
  const ours = containers.filter(({ Labels }) => !isAnotherAlive(Number(Labels[LABEL])));
  await Promise.all(ours.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
}

function isAnotherAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
