/** `quorate doctor`: prints what `redlock.diagnose` finds. */
import type { Diagnosis } from '../../diagnosis/diagnosis.js';
import type { Finding, Severity } from '../../diagnosis/finding.js';
import type { Arguments } from '../arguments.js';
import { EXIT } from '../failure.js';
import { connect, settingsOf } from '../settings.js';
import { type Colour, coloured, print, printJson, shownTime, table } from '../terminal.js';

const COLOURS: Readonly<Record<Severity, Colour>> = { error: 'red', warning: 'yellow', note: 'dim' };
const EXIT_CODES: Readonly<Record<Diagnosis['verdict'], number>> = {
  fit: EXIT.done,
  note: EXIT.done,
  warning: EXIT.no,
  error: EXIT.error,
};

export async function doctor(args: Arguments): Promise<number> {
  args.noOperands();
  const timeoutMs = args.timeMs('timeout');
  const driftOverMs = args.timeMs('watch-clocks');
  const connection = connect(settingsOf(args));
  try {
    const shared = args.has('shared') ? true : undefined;
    const diagnosis = await connection.redlock.diagnose({ timeoutMs, driftOverMs, shared });
    if (args.has('json')) printJson(diagnosis);
    else print(shown(diagnosis));
    return EXIT_CODES[diagnosis.verdict];
  } finally {
    await connection.close();
  }
}

/** For people. */
function shown({ nodes, findings, rights, rightsToDiagnose, verdict }: Diagnosis): string {
  return [
    masters(nodes),
    '',
    ...findings.flatMap(paragraph),
    verdict === 'fit'
      ? coloured('Nothing was found: these masters are fit for locks.', 'green')
      : `Verdict: ${verdict}.`,
    '',
    'The smallest rights that this needs:',
    `  ACL SETUSER locker reset on '>password' ${quoted(rights)}`,
    `The doctor also needs: ${rightsToDiagnose.join(' ')}`,
  ].join('\n');
}

function paragraph({ severity, code, text, remedy, link, nodes }: Finding): readonly string[] {
  const about = nodes.length === 0 ? '' : ` at ${nodes.join(', ')}`;
  return [
    `${coloured(severity.toUpperCase(), COLOURS[severity])} ${coloured(code, 'bold')}${about}`,
    `  ${text}`,
    `  → ${remedy} (${link})`,
    '',
  ];
}

/** The masters, one in a line. */
export function masters(nodes: Diagnosis['nodes']): string {
  const rows = nodes.map(({ node, answers, server = '', roundTripMs }) => [
    node,
    answers ? 'answers' : 'does not answer',
    server,
    roundTripMs === undefined ? '' : `${shownTime(roundTripMs.median)}, p99 ${shownTime(roundTripMs.p99)}`,
  ]);
  return table([['master', '', 'server', 'round trip'], ...rows]);
}

/** What a shell would take apart. */
function quoted(rules: readonly string[]): string {
  return rules.map((rule) => (/^[+\w|-]+$/.test(rule) ? rule : `'${rule}'`)).join(' ');
}
