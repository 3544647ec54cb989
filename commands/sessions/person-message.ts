import { z } from 'zod';
import { detectIn, redactDetected } from '../../domain/redaction/detectors.ts';
import { invalid } from '../../domain/refusal.ts';
import { secret } from '../../domain/secret.ts';
import type { NewMessage } from '../../domain/sessions/session.ts';
import type { GuardrailRule } from '../../domain/webhooks/guardrail-rule.ts';
import * as TenantGuardrails from '../../domain/webhooks/tenant-guardrails.ts';
import type { Ctx } from '../context.ts';
import { redactText } from '../redaction/redaction-patterns.ts';
import { contentLocation } from './content-location.ts';

/**
 * The maximum size of a text to the runner, in bytes of JSON. Together with the files that it names, it fits into one
 * message of the broker, so that the runner gets it at once.
 */
const MAX_SENT_BYTES = 40_960;

/** The first message of a session that a person starts. */
export const FirstMessage = z
  .strictObject({
    content: z
      .string()
      .min(1)
      .meta({ description: 'The text', examples: ['Please review pull request 42.'] }),
  })
  .nullable()
  .default(null)
  .meta({ description: 'What the agent is to do. Only a person can send it; null: the runner learns only of the session' });

type FoundText = { readonly isFound: boolean; readonly redacted: string };

/** Looks for what a rule of the kind `pattern` looks for in bodies of deliveries. */
const findIn = ({ patterns }: Ctx, { name, options }: GuardrailRule, text: string): FoundText => {
  if (options.detectors)
    return { isFound: detectIn([text], options.detectors).length > 0, redacted: redactDetected(text, options.detectors).text };
  const found = patterns.redact(text, [{ pattern: options.pattern!, tag: name }]);
  return { isFound: found.hits.length > 0, redacted: found.text };
};

const blocked = (pointer: string, name: string) =>
  invalid(pointer, `is blocked by the guardrail rule "${name}" of the tenant: remove what the rule forbids`, 'blocked');

/**
 * Applies the rules of the tenant for texts (of the kind `pattern`) and its redaction patterns to what a person has
 * written. `pointer` is the JSON pointer of the text in the request.
 * @throws Refusal invalid if a rule blocks the text, or the text is too long
 */
const screenText = async (ctx: Ctx, pointer: string, text: string): Promise<string> => {
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

const assertSendable = (pointer: string, text: string): void => {
  if (Buffer.byteLength(JSON.stringify(text)) > MAX_SENT_BYTES)
    throw invalid(pointer, `is longer than ${MAX_SENT_BYTES} bytes as JSON: add the text as a file`, 'too_long');
};

type Written = {
  readonly pointer: string;
  readonly content: string;
  readonly model_id?: string | null;
  readonly attachment_ids?: readonly string[];
};

/**
 * Screens what a person has written and encrypts it, as a message that its runner gets. `pointer` is the JSON pointer
 * of the text in the request.
 * @throws Refusal invalid
 */
export const personMessage = async (
  ctx: Ctx,
  session_id: string,
  { pointer, content, model_id = null, attachment_ids = [] }: Written,
): Promise<{ readonly message: NewMessage; readonly content: string }> => {
  assertSendable(pointer, content);
  const message_id = ctx.newId();
  const screened = await screenText(ctx, pointer, content);
  assertSendable(pointer, screened);
  const sealed_content = await ctx.seal(contentLocation(ctx.tenant, session_id, message_id), secret(screened));
  return { message: { message_id, role: 'user', kind: null, model_id, sealed_content, attachment_ids }, content: screened };
};
