import { z } from 'zod';
import { DatabaseCredentialAdd, storeDatabaseCredential, type TestDatabase } from '../../commands/credentials/database-credential.ts';
import { unlinkIdentity } from '../../commands/credentials/linked-identity.ts';
import { AGENT_ROLES } from '../../domain/agents/role-permissions.ts';
import { MAX_SORT_KEY } from '../../domain/event.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { agentsOpenTo } from '../../projections/agents/agent.queries.ts';
import { IDENTITY_SORTS, identityPage } from '../../projections/credentials/linked-identity.queries.ts';
import { LinkedIdentityRead, linkedIdentities } from '../../projections/credentials/linked-identity.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { listQuery, windowOf } from '../http/paging.ts';

/** Returns the ids of the agents whose linked identities the caller may see; undefined if the caller may see all. */
const visibleAgents = async (ctx: Ctx): Promise<readonly string[] | undefined> => {
  if ((await ctx.may('tenant:credentials:write')) || (await ctx.may('tenant:audit:read'))) return undefined;
  if (ctx.principal.kind !== 'user') return [];
  const { user_id } = ctx.principal;
  const { state } = await ctx.load(Tenant, ctx.tenant);
  const since = state.members[user_id]?.since ?? MAX_SORT_KEY;
  const candidates = await agentsOpenTo(ctx.reads, { tenant_id: ctx.tenant, user_id, roles: AGENT_ROLES, since });
  const isVisible = await Promise.all(candidates.map((agent_id) => ctx.may('agent:read', agent_id)));
  return candidates.filter((_, n) => isVisible[n]);
};

const IDENTITIES = '/tenant/:tenant_id/linked-identities';

/** Creates the operations on linked identities. `testDatabase` tests a connection to a database. */
export const linkedIdentityOperations = (testDatabase: TestDatabase) => ({
  storeDatabaseCredential: operation({
    method: 'post',
    path: '/tenant/:tenant_id/database-credentials',
    summary: 'Store or rotate the credential of a database',
    details: 'A tenant has one linked identity for each host: a second credential for a host replaces the first.',
    permit: 'tenant:credentials:write',
    body: DatabaseCredentialAdd,
    reply: LinkedIdentityRead,
    status: 201,
    alternateStatus: 200,
    location: `${IDENTITIES}/:id`,
    run: storeDatabaseCredential(testDatabase),
  }),
  listLinkedIdentities: operation({
    method: 'get',
    path: IDENTITIES,
    summary: 'List the linked identities',
    details: 'Those of the tenant, and those of agents that the caller may see. No response contains a token or a password.',
    permit: 'tenant:read',
    query: listQuery({}, IDENTITY_SORTS),
    reply: z.array(LinkedIdentityRead),
    projection: linkedIdentities.name,
    run: async (ctx, { tenant_id, ...window }) =>
      identityPage(ctx.reads, { tenant_id, agent_ids: await visibleAgents(ctx) }, windowOf(window, IDENTITY_SORTS)),
  }),
  unlinkIdentity: operation({
    method: 'delete',
    path: `${IDENTITIES}/:id`,
    summary: 'Unlink an identity',
    details: 'No runner gets its secret any more, all agents lose it, and the platform revokes its tokens at the provider.',
    permit: 'tenant:credentials:write',
    run: unlinkIdentity,
  }),
});
