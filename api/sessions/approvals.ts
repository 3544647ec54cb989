import { z } from 'zod';
import { nullIfErased } from '../../commands/sessions/approval.ts';
import { openRequest } from '../../commands/sessions/approval-text.ts';
import { ApprovalDecision, decideApproval, readApproval } from '../../commands/sessions/decide-approval.ts';
import { requireApprovalReader, requireDecider } from '../../commands/sessions/session-access.ts';
import { withDeciders } from '../../commands/sessions/session-names.ts';
import { positionOfSortKey } from '../../domain/event.ts';
import { Id25 } from '../../domain/id.ts';
import { APPROVAL_STATUSES, type RequestFields } from '../../domain/sessions/approval.ts';
import { agents } from '../../projections/agents/agent.ts';
import { approvalPage } from '../../projections/sessions/approval.queries.ts';
import { type ApprovalDoc, ApprovalRead } from '../../projections/sessions/approval.ts';
import { sessions } from '../../projections/sessions/session.ts';
import { agentsWithPermission } from '../agents/readable-agents.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery, listQuery, windowOf } from '../http/paging.ts';

const APPROVAL = '/tenant/:tenant_id/sessions/:session_id/messages/:message_id';

const ApprovalsQuery = listQuery({
  status: z.enum(APPROVAL_STATUSES).optional().meta({ description: 'Only approvals with this status' }),
  agent_id: Id25.optional().meta({ description: 'Only approvals of this agent' }),
});

/** Returns the ids of the agents whose approvals the caller may read; undefined if these are all agents. */
const agentsWithReadableApprovals = async (ctx: Ctx): Promise<readonly string[] | undefined> => {
  if (await ctx.may('tenant:settings:write')) return undefined;
  const [assigned, read] = [await agentsWithPermission(ctx, 'agent:assign'), await agentsWithPermission(ctx, 'agent:chat:read')];
  return [...new Set([...assigned, ...read])];
};

/** Adds the texts of approvals, which only the log contains, encrypted. */
const withActions = async (ctx: Ctx, approvals: readonly ApprovalDoc[]) => {
  const events = await ctx.log.eventsAt(approvals.map(({ place }) => positionOfSortKey(place)));
  return Promise.all(
    approvals.map(async (approval, n) => {
      const event = events[n];
      const request = event && { ...(event.data as RequestFields), session_id: approval.session_id };
      return { ...approval, action: request ? ((await nullIfErased(openRequest(ctx, request)))?.action ?? null) : null };
    }),
  );
};

/** Returns the open approvals that the caller may read, at most `limit`, the newest first, with what the agents want to do. */
export const openApprovals = async (ctx: Ctx, limit: number) => {
  const selected = { tenant_id: ctx.tenant, status: 'open', agent_id: undefined, agent_ids: await agentsWithReadableApprovals(ctx) };
  const { body } = await approvalPage(ctx.reads, selected, windowOf({ limit, cursor: undefined, sort: undefined }));
  return withActions(ctx, JSON.parse(body) as ApprovalDoc[]);
};

export const approvalOperations = {
  listApprovals: operation({
    method: 'get',
    path: '/tenant/:tenant_id/approvals',
    summary: 'List approvals',
    details: 'What agents have asked people to decide: for the agents to which the caller may assign work, or whose chats they may read.',
    permit: 'tenant:read',
    query: ApprovalsQuery,
    reply: z.array(ApprovalRead),
    projection: sessions.name,
    otherProjections: [agents.name],
    run: async (ctx, { tenant_id, status, agent_id, ...query }) => {
      const selected = { tenant_id, status, agent_id, agent_ids: await agentsWithReadableApprovals(ctx) };
      const page = await approvalPage(ctx.reads, selected, windowOf(query));
      const items = await withDeciders(ctx, await withActions(ctx, JSON.parse(page.body) as ApprovalDoc[]));
      return { ...page, body: JSON.stringify(z.array(ApprovalRead).parse(items)) };
    },
  }),
  getApproval: operation({
    method: 'get',
    path: `${APPROVAL}/approval`,
    summary: 'Read an approval',
    permit: { all: ['tenant:read'], runner: 'in tenant' },
    permissionNote: "Requires the permission `agent:assign` or `agent:chat:read` on the session's agent, or that agent's runner key.",
    query: asOfQuery,
    reply: ApprovalRead,
    noConditionalGet: true,
    run: async (ctx, path) => {
      await requireApprovalReader(ctx, path.session_id, path.message_id);
      return readApproval(ctx, path);
    },
  }),
  decideApproval: operation({
    method: 'post',
    path: `${APPROVAL}/decision`,
    summary: 'Approve or deny what an agent asks',
    details:
      'Only the first decision counts: a later one is refused with 409, and the answer contains the first (`decision`, `decided_by`, `decided_at`).',
    permit: 'any',
    permissionNote: "Requires the permission `agent:assign` on the session's agent. A runner cannot decide.",
    preauthorize: (ctx, { session_id, message_id }) => requireDecider(ctx, session_id!, message_id!),
    body: ApprovalDecision,
    reply: ApprovalRead,
    run: decideApproval,
  }),
};
