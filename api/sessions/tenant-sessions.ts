import { z } from 'zod';
import { withNames } from '../../commands/sessions/session-names.ts';
import { Timestamp } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import { invalid } from '../../domain/refusal.ts';
import * as Session from '../../domain/sessions/session.ts';
import { agents } from '../../projections/agents/agent.ts';
import { tenantSessionPage } from '../../projections/sessions/session.queries.ts';
import { AuditSessionListItem, type SessionDoc, sessions } from '../../projections/sessions/session.ts';
import { agentsWithReadableChats, assignableAgents } from '../agents/readable-agents.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { Flag, listQuery, TimeRange, windowOf } from '../http/paging.ts';

const SessionListItem = AuditSessionListItem.extend({
  prompt_tokens: z.int().meta({ description: 'The tokens that were sent to models', examples: [12_400] }),
  completion_tokens: z.int().meta({ description: 'The tokens that models returned', examples: [1_900] }),
  cost_usd: z.number().meta({ description: 'The cost of the session in US dollars', examples: [0.08] }),
  last_message_at: Timestamp.nullable().meta({ description: 'When the last message was written; null if there is none' }),
}).meta({ id: 'SessionListItem' });

const Filters = {
  agent_id: Id25.optional().meta({ description: 'Only sessions of this agent' }),
  status: z.enum(Session.SESSION_STATUSES).optional().meta({ description: 'Only sessions with this status' }),
  user_id: Id25.optional().meta({ description: 'Only sessions for this user' }),
  for_me: Flag.optional().meta({
    description:
      'Whether only sessions are listed that wait for an answer or a decision, and to whose agents the caller may assign work. Not with `status`',
    examples: ['true'],
  }),
  ...TimeRange,
};

/** The agents whose sessions the caller may read; undefined for all agents of the tenant. */
const readable = async (ctx: Ctx): Promise<readonly string[] | undefined> =>
  (await ctx.may('tenant:audit:read')) ? undefined : agentsWithReadableChats(ctx);

/** The agents for whose sessions the caller may answer and decide, among those whose sessions they may read. */
export const answerableAgents = async (ctx: Ctx): Promise<readonly string[] | undefined> => {
  const [mayAssign, mayRead] = [await assignableAgents(ctx), await readable(ctx)];
  return mayRead === undefined ? mayAssign : (mayAssign?.filter((id) => mayRead.includes(id)) ?? mayRead);
};

/** The fields that a session of the previous version lacks until the read model is rebuilt. */
const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, cost_micros: 0, last_message_at: null };

const itemOf = (stored: SessionDoc) => {
  const { cost_micros, ...session } = { ...NO_USAGE, ...stored };
  return { ...session, cost_usd: cost_micros / 1_000_000 };
};

export const tenantSessionOperations = {
  listReadableSessions: operation({
    method: 'get',
    path: '/tenant/:tenant_id/sessions',
    summary: 'List sessions that the caller may read',
    permit: 'tenant:read',
    permissionNote:
      'Requires the permission `tenant:read`. The list has the sessions of all agents for callers with `tenant:audit:read`, otherwise those of agents on which the caller has `agent:chat:read`.',
    query: listQuery(Filters),
    reply: z.array(SessionListItem),
    projection: sessions.name,
    otherProjections: [agents.name],
    run: async (ctx, { tenant_id, limit, cursor, sort, for_me = false, ...filter }) => {
      if (for_me && filter.status !== undefined)
        throw invalid(
          '/query/for_me',
          'cannot be combined with status: sessions for the caller have the status waiting',
          'not_with_filters',
        );
      const agent_ids = for_me ? await answerableAgents(ctx) : await readable(ctx);
      const selected = { ...filter, ...(for_me && { status: 'waiting' }), tenant_id, agent_ids };
      const page = await tenantSessionPage(ctx.reads, selected, windowOf({ limit, cursor, sort }));
      const items = await withNames(ctx, (JSON.parse(page.body) as SessionDoc[]).map(itemOf));
      return { ...page, body: JSON.stringify(z.array(SessionListItem).parse(items)) };
    },
  }),
};
