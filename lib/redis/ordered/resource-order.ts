/**
 * Keeps the order of requests for one resource where a client sends commands in any order: a request is held back as long as
 * an earlier one that names one of its resources has no answer. Others go at once.
 *
 * Keys are enough. Each script and each plain command that reads or writes a lock, its queue, its counter or its note names
 * the resource among its keys, since a Redis Cluster and ACLs want all keys named; and what lies beside a resource has a name
 * that no other resource has (`protocol/keys.ts`). Requests without a resource need no order: an echo and a question about
 * the server change nothing, a marker is set by an operator who waits for it, and who lists a token as taken waits for that
 * before the release, or names the resources. So the keys that begin with `quorate:` do not count; otherwise all claims under a
 * guard would wait for each other, since each names the marker.
 *
 * The protocol relies on these orders, all of one resource: an undo or a release after its claim and after extensions in
 * flight, and claims of one caller after the undo of the one before. A script that a master does not know yet may
 * arrive there by its digest before its source: that costs a second step, as after a restart.
 *
 * Bounds: as many as the node lets be in flight. A request ends with its answer or its connection; as long as a master is
 * silent, the undo waits here behind its claim.
 */
import { type Command, keyRange, RESERVED } from '../transport.js';

export class ResourceOrder {
  /** The end of the last request for each resource that has one without an answer. */
  readonly #last = new Map<string, Promise<void>>();

  /** Sends it once all earlier requests for its resources are over. */
  run(command: Command, send: () => Promise<unknown>): Promise<unknown> {
    const resources = resourcesOf(command);
    const before = new Set<Promise<void>>();
    for (const resource of resources) {
      const last = this.#last.get(resource);
      if (last !== undefined) before.add(last);
    }
    const answer = before.size === 0 ? send() : Promise.all(before).then(send);
    if (resources.length === 0) return answer;
    const over = answer.then(ignore, ignore).then(() => {
      for (const resource of resources) if (this.#last.get(resource) === over) this.#last.delete(resource);
    });
    for (const resource of resources) this.#last.set(resource, over);
    return answer;
  }

  /** Calls back once all requests so far for resources are over. */
  whenOver(then: () => void): void {
    void Promise.all(new Set(this.#last.values())).then(then);
  }
}

function resourcesOf(command: Command): readonly string[] {
  return command.args.slice(...keyRange(command)).filter((key) => !key.startsWith(RESERVED));
}

function ignore(): void {}
