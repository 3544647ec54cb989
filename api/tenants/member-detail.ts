import { z } from 'zod';
import { memberView } from '../../commands/tenants/member.ts';
import { effectiveAccess } from '../../domain/access/effective-access.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { effectiveRole, type Members } from '../../domain/agents/agent-roles.ts';
import { notFound } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { agentNames } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import { agentsGivenTo } from '../../projections/agents/agent-access.queries.ts';
import { lastKeyUses } from '../../projections/identity/api-key.queries.ts';
import { apikeys } from '../../projections/identity/api-key.ts';
import { DecidingEvent, decidingEvents } from '../agents/deciding-event.ts';
import { EffectiveAccess } from '../agents/effective-access.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery } from '../http/paging.ts';
import { MemberRead } from './member.ts';
import { LastSeen } from './member-activity.ts';

/** How many agents the answer names. */
const MAX_AGENTS = 200;

const given = (what: string) => DecidingEvent.nullable().meta({ description: `Who gave the ${what}, and when; null without one` });

const MemberAccess = EffectiveAccess.omit({ user_id: true, tenant_role: true }).extend({
  agent_name: z.string().meta({ description: 'The name of the agent', examples: ['Reviewer'] }),
  role_given: given('role'),
  grant_given: given('grant'),
});

export const MemberDetail = MemberRead.extend({
  role_given: DecidingEvent.meta({ description: 'Who gave the role in the tenant, and when' }),
  last_seen_at: LastSeen,
  access: z.array(MemberAccess).meta({
    description: `The agents on which the member has a role or a grant, at most ${MAX_AGENTS}, by name. OWNERs and ADMINs may do everything with all agents`,
  }),
  access_count: z.int().meta({ description: 'On how many agents the member has a role or a grant', examples: [3] }),
}).meta({ id: 'MemberDetail' });

/** The read model knows who has access now. For an earlier time, each agent is examined. */
const candidates = async (ctx: Ctx, user_id: string): Promise<readonly string[]> =>
  ctx.asOf ? (await agentNames(ctx.reads, ctx.tenant)).map(({ id }) => id) : agentsGivenTo(ctx.reads, ctx.tenant, user_id);

type Given = { readonly agent: Agent.Agent; readonly role: Entry; readonly grant: Entry };
type Entry = { readonly by: Agent.Agent['admin_only_by'] } | undefined;

const loadGiven = async (ctx: Ctx, members: Members, user_id: string): Promise<Given[]> => {
  const found: Given[] = [];
  for (const id of await candidates(ctx, user_id)) {
    const { state: agent } = await ctx.load(Agent, id);
    const [role, grant] = [effectiveRole(agent.roles, members, user_id), effectiveRole(agent.grants, members, user_id)];
    if (agent.status === 'live' && (role || grant)) found.push({ agent, role, grant });
  }
  return found.sort((one, other) => one.agent.name.localeCompare(other.agent.name));
};

const readMember = async (ctx: Ctx, { user_id }: { user_id: string }) => {
  const tenant = await ctx.load(Tenant, ctx.tenant);
  const member = tenant.state.members[user_id];
  if (!member) throw notFound();
  const decidedBy = decidingEvents(ctx);
  const event = async (entry: Entry) => (entry?.by ? decidedBy(entry.by) : null);
  const found = await loadGiven(ctx, tenant.state.members, user_id);
  const accessOf = async ({ agent, role, grant }: (typeof found)[number]) => {
    const [role_given, grant_given] = await Promise.all([event(role), event(grant)]);
    return { ...effectiveAccess(tenant.state, user_id, agent), agent_name: agent.name, role_given, grant_given };
  };
  const [view, role_given, uses, access] = await Promise.all([
    memberView(ctx, tenant.state, user_id),
    decidedBy(member.by),
    ctx.asOf ? null : lastKeyUses(ctx.reads, { tenant_id: ctx.tenant, user_ids: [user_id] }),
    Promise.all(found.slice(0, MAX_AGENTS).map(accessOf)),
  ]);
  const state = { ...view, role_given, last_seen_at: uses?.get(user_id) ?? null, access, access_count: found.length };
  return { ...tenant, revision: -1, state };
};

export const memberDetailOperations = {
  readMember: operation({
    method: 'get',
    path: '/tenant/:tenant_id/members/:user_id',
    summary: 'Read a member with their access to agents',
    details: 'Each role and grant names the event that gave it, and who caused it.',
    permit: 'tenant:audit:read',
    query: asOfQuery,
    reply: MemberDetail,
    projection: agents.name,
    otherProjections: [apikeys.name],
    noETag: true,
    run: readMember,
  }),
};
