import * as User from '../../domain/identity/user.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Approval, closedApproval, requestedApproval } from '../../domain/sessions/approval.ts';
import * as Session from '../../domain/sessions/session.ts';
import type { Ctx, Loaded } from '../context.ts';
import { loadOnce } from '../load-once.ts';
import { openComment, openRequest } from './approval-text.ts';

/** Skips approvals that are not in `ids`. */
const record = (approvals: Map<string, Approval>, ids: ReadonlySet<string>, event: Parameters<typeof Session.evolve>[1]): void => {
  switch (event.type) {
    case 'ApprovalRequested':
      if (ids.has(event.data.message_id)) approvals.set(event.data.message_id, requestedApproval(event));
      return;
    case 'ApprovalDecided':
    case 'ApprovalExpired':
    case 'ApprovalCancelled': {
      const approval = approvals.get(event.data.message_id);
      if (approval) approvals.set(approval.message_id, closedApproval(approval, event));
    }
  }
};

/**
 * The approvals that the messages with these ids request. Reads events from the revision `from` on, until each approval, and the end of
 * each closed one, is found.
 */
const approvalsFrom = async (
  ctx: Ctx,
  { state, revision }: Loaded<Session.Session>,
  ids: ReadonlySet<string>,
  from: number,
): Promise<ReadonlyMap<string, Approval>> => {
  const approvals = new Map<string, Approval>();
  const open = new Set(state.open_approvals.map(({ message_id }) => message_id));
  const isComplete = (id: string): boolean => approvals.has(id) && (open.has(id) || approvals.get(id)!.status !== 'open');
  for await (const event of ctx.log.history(Session, state.id, { from })) {
    if (event.revision > revision) break;
    record(approvals, ids, event);
    if ([...ids].every(isComplete)) break;
  }
  return approvals;
};

/** Null if it does not exist. Reads one event if the approval is open, otherwise all of the session. */
export const findApproval = async (ctx: Ctx, session: Loaded<Session.Session>, message_id: string): Promise<Approval | null> => {
  const open = session.state.open_approvals.find((one) => one.message_id === message_id);
  return (await approvalsFrom(ctx, session, new Set([message_id]), open?.revision ?? 0)).get(message_id) ?? null;
};

/** Null when the data key of the tenant was destroyed. */
export const nullIfErased = <T>(opening: Promise<T>): Promise<T | null> =>
  opening.catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'not_found') return null;
    throw error;
  });

/** Returns the present name and e-mail address of a user; both are null if there is no user. */
export const nameOf = async (ctx: Pick<Ctx, 'load'>, user_id: string | null) => {
  const user = user_id === null ? null : await ctx.load(User, user_id);
  const known = user !== null && user.revision >= 0 ? user.state : null;
  return { name: known?.name ?? null, email: known?.email ?? null };
};

export const decidedBy = async (ctx: Pick<Ctx, 'load'>, user_id: string | null) => {
  const { name, email } = await nameOf(ctx, user_id);
  return { decided_by_name: name, decided_by_email: email };
};

/** As in the response schema ApprovalRead. */
export const approvalView = async (ctx: Ctx, approval: Approval) => {
  const [shown, comment, names] = await Promise.all([
    nullIfErased(openRequest(ctx, approval)),
    nullIfErased(openComment(ctx, approval)),
    decidedBy(ctx, approval.decided_by_id),
  ]);
  return { ...approval, ...names, id: approval.message_id, action: shown?.action ?? null, detail: shown?.detail ?? null, comment };
};
export type ApprovalView = Awaited<ReturnType<typeof approvalView>>;

type Page<T> = { readonly messages: readonly T[]; readonly from: number };

/** Adds the approvals with their decisions. `from`: where these messages start. A decision can be much later, so the events are read again. */
export const withApprovals = async <T extends Session.Message>(ctx: Ctx, session: Loaded<Session.Session>, { messages, from }: Page<T>) => {
  const ids = new Set(messages.filter(({ kind }) => kind === 'approval').map(({ message_id }) => message_id));
  if (ids.size === 0) return messages;
  const approvals = await approvalsFrom(ctx, session, ids, from);
  const withLoads = { ...ctx, load: loadOnce(ctx) };
  return Promise.all(
    messages.map(async (message) => {
      const approval = approvals.get(message.message_id);
      return approval ? { ...message, approval: await approvalView(withLoads, approval) } : message;
    }),
  );
};
