import type { GuardrailRule } from '../../domain/guardrails/guardrail-rule.ts';
import * as TenantGuardrails from '../../domain/guardrails/tenant-guardrails.ts';
import { detectIn, redactDetected } from '../../domain/redaction/detectors.ts';
import { invalid } from '../../domain/refusal.ts';
import type { Ctx } from '../context.ts';
import { redactText } from '../redaction/redaction-patterns.ts';

type FoundText = { readonly isFound: boolean; readonly redacted: string };

/** Applies a rule of the kind `pattern`, as to the body of a delivery. */
const findIn = ({ checks }: Ctx, { name, options }: GuardrailRule, text: string): FoundText => {
  if (options.detectors)
    return { isFound: detectIn([text], options.detectors).length > 0, redacted: redactDetected(text, options.detectors).text };
  const found = checks.patterns.redact(text, [{ pattern: options.pattern!, tag: name }]);
  return { isFound: found.hits.length > 0, redacted: found.text };
};

const blocked = (pointer: string, name: string) =>
  invalid(pointer, `is blocked by the guardrail rule "${name}" of the tenant: remove what the rule forbids`, 'blocked');

/**
 * Applies the tenant's rules of the kind `pattern` and its redaction patterns to a person's text at `pointer` in the request.
 * @throws Refusal invalid if a rule blocks it, or if this takes too long
 */
export const screenText = async (ctx: Ctx, pointer: string, text: string): Promise<string> => {
  const { rules } = (await ctx.load(TenantGuardrails, ctx.tenant)).state;
  let screened = text;
  for (const rule of rules) {
    if (rule.kind !== 'pattern' || rule.action === 'label') continue;
    const { isFound, redacted } = findIn(ctx, rule, screened);
    if (isFound && rule.action === 'block') throw blocked(pointer, rule.name);
    screened = redacted;
  }
  return redactText(ctx, pointer, screened);
};

/** Screens a person's text; redacts a runner's. @throws Refusal invalid */
export const storableText = (ctx: Ctx, pointer: string, text: string): Promise<string> =>
  ctx.principal.kind === 'runner' ? redactText(ctx, pointer, text) : screenText(ctx, pointer, text);
