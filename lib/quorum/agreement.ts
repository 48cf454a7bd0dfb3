/** What a quorum must agree on beyond its yes: the fencing token, or the set of permits. */
import { FenceAgreement } from './fence-agreement.js';
import type { Node } from '../node/node.js';
import type { Round } from './round.js';
import { PermitAgreement } from './permit-agreement.js';

export class Agreement {
  #steps: FenceAgreement | PermitAgreement | undefined;

  /**
   * Makes the masters of the round agree when they grant different things; undefined where there is nothing to agree on.
   */
  static for(round: Round, nodes: readonly Node[]): Agreement | undefined {
    const { isFenced, takesPermits } = round.request;
    if (!isFenced && !takesPermits) return undefined;
    const agreement = new Agreement();
    round.onSplit = () => {
      agreement.#steps ??= takesPermits
        ? new PermitAgreement(nodes, round)
        : new FenceAgreement(nodes, round);
      agreement.#steps.proceed();
    };
    return agreement;
  }

  /** The round is over: drops what was not sent. */
  end(): void {
    this.#steps?.end();
  }
}
