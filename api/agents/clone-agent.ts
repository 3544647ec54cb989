import { AgentClone, cloneAgent, findTenantOfAgent } from '../../commands/agents/clone-agent.ts';
import { Refusal } from '../../domain/refusal.ts';
import { AgentRead } from '../../projections/agents/agent.ts';
import { membershipPages } from '../../projections/identity/user.queries.ts';
import { users } from '../../projections/identity/user.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { withinAgentLimit } from './agent-limit.ts';

const PERMISSION = 'tenant:agents:create';

/**
 * Returns the tenants in which the credential of the caller is valid, in pages. @throws Refusal forbidden if the caller
 * is no user
 */
async function* tenantsOf({ principal, reads }: Ctx): AsyncGenerator<string[], void> {
  if (principal.kind !== 'user')
    throw new Refusal('forbidden', `This needs the permission ${PERMISSION}`, { members: { permission: PERMISSION } });
  if (principal.bound_to !== null) {
    yield [principal.bound_to];
    return;
  }
  for await (const page of membershipPages(reads, principal.user_id)) yield page.map(({ tenant_id }) => tenant_id);
}

/**
 * Returns the tenant in which the caller may read the agent. For a credential that is not bound to a tenant, the read
 * model names the tenants. If the agent is in none of them, the read model can lack a membership that is a moment old:
 * the search is repeated once the read model has caught up.
 * @throws Refusal not_found, forbidden, not_caught_up
 */
const findSource = async (ctx: Ctx, source_id: string): Promise<string> => {
  const search = () => findTenantOfAgent(ctx, source_id, tenantsOf(ctx));
  return search().catch(async (error) => {
    const isBound = ctx.principal.kind !== 'user' || ctx.principal.bound_to !== null;
    if (isBound || !(error instanceof Refusal && error.code === 'not_found')) throw error;
    const end = await ctx.logEnd();
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
      'The copy has the settings of the agent, but no secrets, roles, grants, webhooks or memory. The caller becomes its owner. Its slug is derived from the name.',
    permit: 'any',
    permissionNote: 'Requires the permissions `agent:read` on the agent and `tenant:agents:create` in its tenant.',
    // Search the agent before an invalid body is refused: the refusal must not show that a hidden agent exists. With a
    // valid body, `run` searches it.
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
