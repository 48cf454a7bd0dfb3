/** The holders of a lock at this moment, as far as a quorum of masters shows them: for a client that takes it away. */
import { inspection, type Request, sharedInspection } from '../protocol/request.js';
import { GRANTED, oddReply, type Outcome, quorumOf, unknown, unknownBy } from '../protocol/quorum.js';
import { integers } from '../protocol/replies.js';
import type { Scope } from '../protocol/scope.js';
import type { SurveyAnswer } from '../quorum/survey.js';
import { NOT_AWAITED } from '../redis/server-errors.js';
import { AT_REST, tokenIn } from '../runtime/random.js';

type Lock = Pick<Scope, 'keys' | 'kind'>;

/** What a master shows of the lock. */
interface Look {
  readonly outcome: Outcome;
  readonly tokens: readonly string[];
}

/** What the masters show. */
export interface HoldersSeen {
  readonly outcomes: readonly Outcome[];
  /**
   * The tokens that have a quorum of votes; or that may have one, with the votes of masters that do not answer. Any other is
   * that of a client that waits or claims at this moment.
   */
  readonly tokens: readonly string[];
  /** No further answer can add a token or take one away. */
  readonly isSure: boolean;
}

const WRONG_KIND: Outcome = {
  kind: 'refused',
  remainingMs: undefined,
  isWrongType: true,
  isForeignClient: false,
};

/** Asks for the holders. */
export function holdersRequest({ keys, kind }: Lock): Request {
  const [key = ''] = keys;
  return kind.name === 'mutex' ? inspection(key) : sharedInspection(key);
}

/** @param answers  to that request, by the master's index; undefined for one that is missing */
export function holdersIn(answers: readonly (SurveyAnswer | undefined)[], { kind }: Lock): HoldersSeen {
  const isShared = kind.name !== 'mutex';
  const looks = answers.map((answer) => readLook(answer, isShared));
  const votes = new Map<string, number>();
  for (const token of looks.flatMap(({ tokens }) => tokens)) votes.set(token, (votes.get(token) ?? 0) + 1);
  const needed = quorumOf(answers.length);
  const silent = looks.filter(({ outcome }) => outcome.kind === 'unknown').length;
  const having = (least: number): readonly string[] =>
    [...votes].filter(([, count]) => count >= least).map(([token]) => token);
  const winners = having(needed);
  // of an exclusive lock, there is one at most
  const tokens = winners.length > 0 && !isShared ? winners : having(Math.max(1, needed - silent));
  const isSure = looks.length - silent >= needed && tokens.every((token) => winners.includes(token));
  return { outcomes: looks.map(({ outcome }) => outcome), tokens, isSure };
}

/** The outcome of a call of which only this matters. */
export function outcomeOf(
  answer: SurveyAnswer | undefined,
  read: (reply: unknown) => Outcome | undefined,
): Outcome {
  if (answer?.kind !== 'answered') return unknownBy(answer?.cause ?? NOT_AWAITED);
  return read(answer.reply) ?? unknown(oddReply());
}

function readLook(answer: SurveyAnswer | undefined, isShared: boolean): Look {
  const [code, , nowMs] = answer?.kind === 'answered' ? integers(answer.reply, isShared ? 3 : 2) : [];
  const outcome = outcomeOf(answer, () =>
    code === 2 ? WRONG_KIND : code === undefined ? undefined : GRANTED,
  );
  if (code !== 1 || answer?.kind !== 'answered') return { outcome, tokens: [] };
  const parts = answer.reply as readonly unknown[]; // an array, as it has integers
  return { outcome, tokens: isShared ? liveIn(parts[3], nowMs ?? 0) : [tokenIn(String(parts[2]))] };
}

/** The holders whose time is not over, by the fields of the lock. */
function liveIn(fields: unknown, nowMs: number): readonly string[] {
  if (!Array.isArray(fields)) return [];
  return fields.flatMap((token: unknown, i) => {
    const [, ends] = String(fields[i + 1]).split('|');
    return i % 2 === 0 && token !== AT_REST && Number(ends) > nowMs ? [String(token)] : [];
  });
}
