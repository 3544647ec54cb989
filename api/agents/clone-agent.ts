import { AgentClone, cloneAgent, findTenantOfAgent } from '../../commands/agents/clone-agent.ts';
import { Refusal } from '../../domain/refusal.ts';
import { AgentRead } from '../../projections/agents/agent.ts';
import { users } from '../../projections/identity/user.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { withinAgentLimit } from './agent-limit.ts';
import { tenantsOfCaller } from './caller-tenants.ts';

const PERMISSION = 'tenant:agents:create';

/** Returns the refusal of callers that are not users, such as runners. */
const notPermitted = () => new Refusal('forbidden', `This needs the permission ${PERMISSION}`, { members: { permission: PERMISSION } });

/**
 * Returns the tenant in which the caller may read the agent. If the credential is not bound to a tenant, the read model
 * names the tenants of the caller, and may lack one that the caller has just joined. So if no tenant has the agent, the
 * search is repeated after the read model has caught up with the log.
 * @throws Refusal not_found, forbidden, not_caught_up
 */
const findSource = async (ctx: Ctx, source_id: string): Promise<string> => {
  const { principal, reads } = ctx;
  if (principal.kind !== 'user') throw notPermitted();
  const search = () => findTenantOfAgent(ctx, source_id, tenantsOfCaller(principal, reads));
  return search().catch(async (error) => {
    if (principal.bound_to !== null || !(error instanceof Refusal && error.code === 'not_found')) throw error;
    const end = await ctx.log.logEnd();
    if (end) await ctx.reads.passed(users.name, end);
    return search();
  });
};

export const cloneAgentOperations = {
  cloneAgent: operation({
    method: 'post',
    path: '/agents/:source_id/clone',
    summary: 'Clone an agent',
    details:
      'The copy has the settings, models, tools and Slack settings of the agent, and its skills without their configurations. It never has its secrets, roles, grants, integrations, cron jobs, runner keys, sessions or memory. The caller becomes the owner of the copy, and its slug is derived from its name.',
    permit: 'any',
    permissionNote: 'Requires the permissions `agent:read` on the agent and `tenant:agents:create` in its tenant.',
    // Search for the agent before an invalid body is refused; otherwise, the refusal would reveal that a hidden agent
    // exists. For a valid body, `run` searches for the agent.
    preauthorize: async (ctx, { source_id }, readBody) => {
      if (!AgentClone.safeParse(await readBody()).success) await findSource(ctx, source_id!);
    },
    body: AgentClone,
    reply: AgentRead,
    status: 201,
    location: '/tenant/:tenant_id/agents/:id',
    run: async (ctx, input) => {
      const inside = ctx.inTenant(await ctx.sideEffect(() => findSource(ctx, input.source_id)));
      await inside.require(PERMISSION);
      return withinAgentLimit(inside, (checkLimit) => cloneAgent(inside, input, checkLimit));
    },
  }),
};
