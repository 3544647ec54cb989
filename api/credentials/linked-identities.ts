import { z } from 'zod';
import { DatabaseCredentialAdd, storeDatabaseCredential, type TestDatabase } from '../../commands/credentials/database-credential.ts';
import { unlinkIdentity } from '../../commands/credentials/linked-identity.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { AGENT_ROLES } from '../../domain/agents/role-permissions.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import { MAX_SORT_KEY } from '../../domain/event.ts';
import { idOf } from '../../domain/id.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { agentsOpenTo } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import { agentsGiven } from '../../projections/agents/given-credential.queries.ts';
import { IDENTITY_SORTS, identityPage } from '../../projections/credentials/linked-identity.queries.ts';
import { LinkedIdentityRead, linkedIdentities } from '../../projections/credentials/linked-identity.ts';
import type { Page } from '../../projections/read-model.ts';
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

const LinkedIdentityListRead = LinkedIdentityRead.extend({
  given_to: z
    .array(z.object({ agent_id: idOf('agent'), name: z.string().meta({ description: 'The name of the agent', examples: ['Triage'] }) }))
    .meta({ description: 'The agents that were given this identity of the tenant, of those that the caller may see', examples: [[]] }),
}).meta({ id: 'LinkedIdentityListRead' });

type Listed = z.output<typeof LinkedIdentityRead>;

/**
 * Returns the agents that still have an identity. The aggregates decide: the read model keeps the agents of an identity
 * after it is unlinked.
 */
const givenTo = async (ctx: Ctx, identity_id: string, agent_ids: readonly string[]) => {
  const identity = await ctx.load(LinkedIdentity, identity_id);
  const found = await Promise.all(
    agent_ids.map(async (agent_id) => {
      const { state } = await ctx.load(Agent, agent_id);
      const gift = state.credentials[identity_id];
      const hasIt = state.status === 'live' && gift && LinkedIdentity.isLinkedSince(identity.state, gift.identity_revision);
      return hasIt ? [{ agent_id, name: state.name }] : [];
    }),
  );
  return found.flat();
};

/** Adds to each identity the agents that have it. `visible` are the agents that the caller may see; undefined for all. */
const withAgents = async (ctx: Ctx, page: Page, visible: readonly string[] | undefined): Promise<Page> => {
  const found = JSON.parse(page.body) as Listed[];
  const given = await agentsGiven(ctx.reads, { tenant_id: ctx.tenant, ids: found.map(({ id }) => id) });
  const known = visible && new Set(visible);
  const seen = given.filter(({ agent_id }) => known?.has(agent_id) !== false);
  const byIdentity = Map.groupBy(seen, ({ identity_id }) => identity_id);
  const agentsOf = (id: string): readonly string[] => (byIdentity.get(id) ?? []).map(({ agent_id }) => agent_id);
  const listed = found.map(async (identity) => ({ ...identity, given_to: await givenTo(ctx, identity.id, agentsOf(identity.id)) }));
  return { ...page, body: JSON.stringify(await Promise.all(listed)) };
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
    reply: z.array(LinkedIdentityListRead),
    projection: linkedIdentities.name,
    otherProjections: [agents.name],
    run: async (ctx, { tenant_id, ...window }) => {
      const agent_ids = await visibleAgents(ctx);
      return withAgents(ctx, await identityPage(ctx.reads, { tenant_id, agent_ids }, windowOf(window, IDENTITY_SORTS)), agent_ids);
    },
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
