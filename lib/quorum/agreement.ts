/** What a quorum has to be of one mind about, beside its yes: the fencing token, or which permits. */
import { FenceAgreement } from './fence-agreement.js';
import type { Node } from '../node/node.js';
import type { Round } from './round.js';
import { PermitAgreement } from './permit-agreement.js';

export class Agreement {
  #steps: FenceAgreement | PermitAgreement | undefined;

  /** Brings the masters of that round together, where they say yes to different things; undefined where there is no need. */
  static for(round: Round, nodes: readonly Node[], ttlMs: number): Agreement | undefined {
    const { isFenced, takesPermits } = round.request;
    if (!isFenced && !takesPermits) return undefined;
    const agreement = new Agreement();
    round.onSplit = () => {
      agreement.#steps ??= takesPermits
        ? new PermitAgreement(nodes, round)
        : new FenceAgreement(nodes, round, ttlMs);
      agreement.#steps.proceed();
    };
    return agreement;
  }

  /** Drops what was not sent; the round is over. */
  end(): void {
    this.#steps?.end();
  }
}
