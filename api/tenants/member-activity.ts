import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { agents } from '../../projections/agents/agent.ts';
import { agentCountsOf } from '../../projections/agents/agent-access.queries.ts';
import { lastKeyUses } from '../../projections/identity/api-key.queries.ts';
import { apikeys } from '../../projections/identity/api-key.ts';
import { idList } from '../http/id-list.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';

/** How many ids of members one query can have. */
const MAX_IDS = 200;

export const LastSeen = Timestamp.nullable().meta({
  description:
    'When one of the API keys of the member for this tenant that are not revoked was last used; updated at most once an hour. Null without such a use, and with `as_of`. Browsers that sign in without a key do not count',
});

const MemberActivity = z
  .object({
    user_id: idOf('user'),
    agent_count: z.int().meta({ description: 'On how many agents the member has a role or a grant', examples: [3] }),
    last_seen_at: LastSeen,
  })
  .meta({ id: 'MemberActivity' });

/** A schema for a query parameter with ids of members. */
export const MemberIds = idList('members', MAX_IDS).optional();

const query = z.strictObject({
  user_id: MemberIds.meta({ description: `Only these members, separated by commas; by default, ${MAX_IDS} of them` }),
});

const readActivity = async (ctx: Ctx, asked: readonly string[] | undefined): Promise<z.output<typeof MemberActivity>[]> => {
  const { members } = (await ctx.load(Tenant, ctx.tenant)).state;
  const ids = [...new Set(asked ?? Object.keys(members))].filter((id) => members[id] !== undefined).slice(0, MAX_IDS);
  const since = ids.map((id) => members[id]!.since);
  const [counts, uses] = await Promise.all([
    agentCountsOf(ctx.reads, { tenant_id: ctx.tenant, user_ids: ids, since }),
    lastKeyUses(ctx.reads, { tenant_id: ctx.tenant, user_ids: ids }),
  ]);
  return ids.map((user_id) => ({ user_id, agent_count: counts.get(user_id) ?? 0, last_seen_at: uses.get(user_id) ?? null }));
};

export const memberActivityOperations = {
  listMemberActivity: operation({
    method: 'get',
    path: '/tenant/:tenant_id/members/activity',
    summary: 'List when the keys of members were last used',
    details:
      'One entry for each member, also with the number of their agents. OWNERs and ADMINs may do everything with all agents, also without a role on them.',
    permit: 'tenant:audit:read',
    query,
    reply: z.array(MemberActivity),
    projection: agents.name,
    otherProjections: [apikeys.name],
    noETag: true,
    run: async (ctx, { user_id }) => ({
      body: JSON.stringify(z.array(MemberActivity).parse(await readActivity(ctx, user_id?.split(',')))),
      next: null,
    }),
  }),
};
