/** A client whose lease another one takes away confirms that its holder has stopped (`ousting`). */
import type { Node } from '../node/node.js';
import { IGNORED_ANSWER } from '../node/sink.js';
import { pushChannel } from '../protocol/keys.js';
import type { Push } from '../protocol/pushes.js';
import { hello, undoQueued } from '../protocol/request.js';
import type { Grant } from '../quorum/grant.js';
import type { QuorumParts } from '../quorum/parts.js';
import { survey } from '../quorum/survey.js';
import { isOurs } from '../runtime/random.js';
import type { CoordinatorParts } from './acquisition-terms.js';
import { holdersIn, holdersRequest } from './current-holders.js';

/** The push to a holder whose lease is taken away. */
export type OustedPush = Push & { readonly kind: 'ousted' };

/** It was notified by a push. Of several resources, those that were not taken are given back. */
export function acknowledge(parts: CoordinatorParts, grant: Grant, { by, key }: OustedPush): void {
  confirm(parts.nodes, grant.token, by);
  for (const node of parts.nodes) {
    const keys = grant.keys.filter((one) => node.keyPrefix + one !== key);
    if (keys.length === 0) continue;
    const request = undoQueued({ ...grant.setting, keys }, grant.token, parts.clocks);
    node.send({ request, sink: IGNORED_ANSWER });
  }
}

/**
 * Its renewal was refused since masters list its token: finds who has the lock in its place. The one that takes it is alone; permits
 * are never taken so.
 */
export async function admit(parts: QuorumParts, grant: Grant, nodeTimeoutMs: number): Promise<void> {
  const { nodes, timers } = parts;
  if (grant.kind.name === 'semaphore') return;
  for (const key of grant.keys) {
    const lock = { keys: [key], kind: grant.kind };
    const answers = await survey(nodes, timers, { request: holdersRequest(lock), nodeTimeoutMs });
    const [by = '', ...others] = holdersIn(answers, lock).tokens;
    if (others.length === 0 && by !== grant.token && isOurs(by)) confirm(nodes, grant.token, by);
  }
}

function confirm(nodes: readonly Node[], token: string, by: string): void {
  const ask = { request: hello(pushChannel(by), `k ${by} ${token}`), sink: IGNORED_ANSWER };
  for (const node of nodes) node.send(ask);
}
