import { z } from 'zod';
import { text } from '../../domain/fields.ts';
import { conflict, notFound, Refusal } from '../../domain/refusal.ts';
import { type Approval, DECISIONS } from '../../domain/sessions/approval.ts';
import { approvalExpired, decideApproval as decide } from '../../domain/sessions/decide-approval.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import { type ApprovalView, approvalView, decidedBy, findApproval } from './approval.ts';
import { sealComment } from './approval-text.ts';
import { loadSession } from './session-access.ts';

const MAX_COMMENT_LENGTH = 2_000;

export const ApprovalDecision = z
  .strictObject({
    decision: z.enum(DECISIONS).meta({ description: 'Whether the agent may do it', examples: ['approved'] }),
    comment: text(0, MAX_COMMENT_LENGTH)
      .nullable()
      .default(null)
      .meta({ description: 'A reason, or a condition, that the agent reads', examples: ['Only after 18:00.'] }),
  })
  .meta({ id: 'ApprovalDecision', examples: [{ decision: 'approved', comment: 'Only after 18:00.' }] });

type OfApproval = 'tenant_id' | 'session_id' | 'message_id';

/** @throws Refusal not_found */
const existingApproval = async (ctx: Ctx, session: Loaded<Session.Session>, message_id: string): Promise<Approval> => {
  const approval = await findApproval(ctx, session, message_id);
  if (!approval) throw notFound();
  return approval;
};

const viewOf = async (ctx: Ctx, session: Loaded<Session.Session>, message_id: string): Promise<Loaded<ApprovalView>> => ({
  ...session,
  state: await approvalView(ctx, await existingApproval(ctx, session, message_id)),
});

/** The refusal for a closed approval contains the first decision. */
const refusalOf = async (ctx: Ctx, { status, decided_by_id, decided_at, expires_at }: Approval, refusal: Refusal): Promise<Refusal> => {
  if (status === 'expired') return approvalExpired(expires_at);
  if (status === 'open' || status === 'cancelled') return refusal;
  const { decided_by_name, decided_by_email } = await decidedBy(ctx, decided_by_id);
  const detail = `${decided_by_name ?? decided_by_email ?? 'A user'} has already decided: ${status}. A decision cannot be changed`;
  const first = { decision: status, decided_by: decided_by_id, decided_by_name, decided_by_email, decided_at };
  return conflict('/path/message_id', 'already_decided', detail, first);
};

/** Only the first decision counts. @throws Refusal not_found, conflict if there is a decision, or the approval or session has ended */
export const decideApproval = async (ctx: Ctx, { session_id, message_id, ...input }: Input<typeof ApprovalDecision, OfApproval>) => {
  const sealed_comment = await sealComment(ctx, session_id, message_id, input.comment);
  const decided = { decision: input.decision, sealed_comment };
  const session = await ctx.transact(Session, session_id, decide(message_id, decided, ctx.at())).catch(async (error: unknown) => {
    if (!(error instanceof Refusal) || error.code !== 'conflict') throw error;
    throw await refusalOf(ctx, await existingApproval(ctx, await loadSession(ctx, session_id), message_id), error);
  });
  return viewOf(ctx, session, message_id);
};

/** Returns an approval with its texts. @throws Refusal not_found, unavailable */
export const readApproval = async (ctx: Ctx, { session_id, message_id }: { readonly [Name in OfApproval]: string }) =>
  viewOf(ctx, await loadSession(ctx, session_id), message_id);
