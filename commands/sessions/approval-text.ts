import { z } from 'zod';
import { sha256Of } from '../../domain/digest.ts';
import { displayText, InstantText, instantOf, text } from '../../domain/fields.ts';
import { invalid } from '../../domain/refusal.ts';
import { secret } from '../../domain/secret.ts';
import type { Approval, RequestFields } from '../../domain/sessions/approval.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { Ctx, SecretLocation } from '../context.ts';
import { redactText } from '../redaction/redaction-patterns.ts';
import { screenText } from './screen-text.ts';

const MAX_ACTION_LENGTH = 200;
const MAX_DETAIL_LENGTH = 16_384;

export const ApprovalRequest = z
  .strictObject({
    action: displayText(1, MAX_ACTION_LENGTH).meta({ description: 'What the agent wants to do', examples: ['Merge pull request 42'] }),
    detail: text(0, MAX_DETAIL_LENGTH)
      .default('')
      .meta({ description: 'What a person must know to decide', examples: ['All checks have passed.'] }),
    expires_at: InstantText.nullable()
      .default(null)
      .meta({ description: 'The time until which people can decide; null: until the end of the session', examples: [null] }),
  })
  .meta({ id: 'ApprovalRequest', examples: [{ action: 'Merge pull request 42', detail: 'All checks have passed.' }] });
export type NewApproval = z.output<typeof ApprovalRequest>;

type Shown = { readonly action: string; readonly detail: string };

/** `message_id`: the message that asks for the approval. */
type ApprovalRef = { readonly tenant: string; readonly session_id: string; readonly message_id: string };

export const approvalLocation = ({ tenant, session_id, message_id }: ApprovalRef, part: 'request' | 'comment'): SecretLocation => ({
  tenant,
  category: Session.category,
  id: session_id,
  field: `approval/${message_id}/${part}`,
});

/** SHA-256 of what people see when they decide: the JSON of these fields, in this order, without spaces. */
const shownDigest = ({ action, detail }: Shown, expires_at: string | null): string =>
  sha256Of(new TextEncoder().encode(JSON.stringify({ action, detail, expires_at })));

/**
 * Redacts the texts by the tenant's patterns, and encrypts them. A repeat with the same Idempotency-Key gets the stored texts, even if the
 * approval has expired.
 * @throws Refusal invalid if it expires in the past
 */
export const sealRequest = (ctx: Ctx, session_id: string, message_id: string, approval: NewApproval): Promise<RequestFields> =>
  ctx.sideEffect(async () => {
    const expires_at = approval.expires_at === null ? null : instantOf(approval.expires_at);
    if (expires_at !== null && expires_at <= ctx.at()) throw invalid('/approval/expires_at', 'must be in the future', 'in_the_past');
    const action = await redactText(ctx, '/approval/action', approval.action);
    const detail = await redactText(ctx, '/approval/detail', approval.detail);
    const location = approvalLocation({ tenant: ctx.tenant, session_id, message_id }, 'request');
    const sealed_request = await ctx.secrets.seal(location, secret(JSON.stringify({ action, detail })));
    return { message_id, expires_at, sha256: shownDigest({ action, detail }, expires_at), sealed_request };
  });

/** Screens the comment, and encrypts it for the runner. @throws Refusal invalid */
export const sealComment = (ctx: Ctx, session_id: string, message_id: string, comment: string | null): Promise<string | null> =>
  ctx.sideEffect(async () => {
    if (comment === null) return null;
    const screened = await screenText(ctx, '/comment', comment);
    return ctx.secrets.seal(approvalLocation({ tenant: ctx.tenant, session_id, message_id }, 'comment'), secret(screened));
  });

/** @throws Refusal not_found if the tenant was erased, unavailable */
export const openRequest = async (
  ctx: Ctx,
  { session_id, message_id, sealed_request }: Pick<Approval, 'session_id' | 'message_id' | 'sealed_request'>,
): Promise<Shown> =>
  JSON.parse(
    (await ctx.secrets.open(approvalLocation({ tenant: ctx.tenant, session_id, message_id }, 'request'), sealed_request)).reveal(),
  ) as Shown;

/** @throws Refusal not_found if the tenant was erased, unavailable */
export const openComment = async (ctx: Ctx, { session_id, message_id, sealed_comment }: Approval): Promise<string | null> =>
  sealed_comment === null
    ? null
    : (await ctx.secrets.open(approvalLocation({ tenant: ctx.tenant, session_id, message_id }, 'comment'), sealed_comment)).reveal();
