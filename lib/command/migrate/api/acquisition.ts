/** `acquire`, `lock` and `using`: the ttl and the settings become options, and the routine gets the lease. */
import type { Node } from '@babel/types';
import {
  type Call,
  endOf,
  type InlineFunction,
  isInlineFunction,
  isMember,
  isParenthesized,
  type Member,
  memberName,
  startOf,
} from '../tree.js';
import { argumentsOf, CALLBACK, type Context, OPEN_WAIT, waitOfCall } from './context.js';
import type { Wait } from './settings.js';

export function rewriteAcquire(call: Call, callee: Member, context: Context): void {
  const { edits, findings, release } = context;
  const given = argumentsOf(call, context);
  if (given === undefined) return;
  const [, ttl, settings, extra] = given;
  if (extra !== undefined || (settings !== undefined && release === 4)) return findings.hold(call, CALLBACK);
  if (ttl === undefined) return findings.left(call, 'the ttl is missing');
  if (!rewriteTtl(ttl, settings, context)) return;
  if (memberName(callee) === 'lock')
    edits.replace(startOf(callee.property), endOf(callee.property), 'acquire');
}

export function rewriteUsing(call: Call, context: Context): void {
  const { findings } = context;
  const given = argumentsOf(call, context);
  if (given === undefined) return;
  const [, ttl, third, fourth] = given;
  const [settings, routine] = fourth === undefined ? [undefined, third] : [third, fourth];
  if (ttl === undefined || !isInlineFunction(routine))
    return findings.left(
      call,
      'the routine is not written here; it gets the lease: using(names, { ttlMs }, (lease) => routine(lease.signal))',
    );
  const parameter = parameterOf(routine, context);
  if (typeof parameter === 'string') return findings.left(routine, parameter);
  if (rewriteTtl(ttl, settings, context)) parameter?.rewrite();
}

/** @returns whether it was rewritten */
function rewriteTtl(ttl: Node, settings: Node | undefined, context: Context): boolean {
  const { findings } = context;
  const wait = waitOfCall(settings, context);
  if (typeof wait === 'string') {
    findings.left(settings ?? ttl, wait);
    return false;
  }
  if (settings !== undefined && [ttl, settings].some(isParenthesized)) {
    findings.left(settings, 'parentheses around an argument; write { ttlMs, waitMs }');
    return false;
  }
  if (wait?.isOpen === true) findings.look(settings ?? ttl, OPEN_WAIT);
  writeOptions(ttl, settings, wait, context);
  return true;
}

function writeOptions(
  ttl: Node,
  settings: Node | undefined,
  wait: Wait | undefined,
  { tree, edits }: Context,
): void {
  const isShort = tree.textOf(ttl) === 'ttlMs';
  const [open, close] = ttl.type === 'SequenceExpression' ? ['(', ')'] : ['', '']; // a comma would begin a property
  edits.insert(startOf(ttl), isShort ? '{ ' : `{ ttlMs: ${open}`);
  const rest = wait === undefined ? ' }' : `, waitMs: ${wait.text} }`;
  edits.replace(endOf(ttl), endOf(settings ?? ttl), close + rest);
}

/** How the parameter of a routine is rewritten; undefined without one. @returns a reason, where it is not */
function parameterOf(
  routine: InlineFunction,
  context: Context,
): { readonly rewrite: () => void } | string | undefined {
  const { tree, scopes, edits, origins } = context;
  const [parameter, extra] = routine.params;
  if (extra !== undefined) return 'the routine has a second parameter; the lease is the first one';
  if (parameter === undefined) return undefined;
  if (parameter.type !== 'Identifier') return 'the routine takes its signal apart; it gets the lease now';
  const { name, typeAnnotation } = parameter;
  const type = typeAnnotation ? tree.textOf(typeAnnotation).replace(/^:\s*/, '') : 'AbortSignal';
  const imported = origins.of('other').find((binding) => binding.name === type);
  if (type !== 'AbortSignal' && imported === undefined) return `the signal has the type ${type} here`;
  const pattern = name === 'signal' ? '{ signal }' : `{ signal: ${name} }`;
  const head = tree.source.slice(startOf(routine), startOf(parameter));
  const rewrite = (): void => {
    edits.replace(startOf(parameter), endOf(parameter), head.includes('(') ? pattern : `(${pattern})`);
    for (const reference of scopes.bindingOf(parameter)?.references ?? []) {
      const member = tree.parentOf(reference);
      if (
        member !== undefined &&
        isMember(member) &&
        member.object === reference &&
        memberName(member) === 'error'
      )
        edits.replace(startOf(member.property), endOf(member.property), 'reason');
    }
  };
  return { rewrite };
}
