import { z } from 'zod';
import { invalid } from '../../domain/refusal.ts';
import { secret } from '../../domain/secret.ts';
import { MAX_SENT_BYTES } from '../../domain/sessions/sent-fields.ts';
import type { NewMessage } from '../../domain/sessions/session.ts';
import type { Ctx } from '../context.ts';
import { contentLocation } from './content-location.ts';
import { screenText } from './screen-text.ts';

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

/** @throws Refusal invalid */
export const assertSendable = (pointer: string, text: string): void => {
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
 * Screens a person's text, and encrypts it for the runner. `pointer`: the text in the request. A repeat with the same Idempotency-Key gets
 * the stored text, even if the tenant's rules have changed.
 * @throws Refusal invalid
 */
export const personMessage = async (
  ctx: Ctx,
  session_id: string,
  { pointer, content, model_id = null, attachment_ids = [] }: Written,
): Promise<{ readonly message: NewMessage; readonly content: string }> => {
  assertSendable(pointer, content);
  const message_id = ctx.newId();
  const location = contentLocation(ctx.tenant, session_id, message_id);
  const sealed_content = await ctx.sideEffect(async () => {
    const screened = await screenText(ctx, pointer, content);
    assertSendable(pointer, screened);
    return ctx.secrets.seal(location, secret(screened));
  });
  const stored = (await ctx.secrets.open(location, sealed_content)).reveal();
  return { message: { message_id, role: 'user', kind: null, model_id, sealed_content, attachment_ids }, content: stored };
};
