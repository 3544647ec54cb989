import { z } from 'zod';
import { DatabaseCredentialAdd, storeDatabaseCredential, type TestDatabase } from '../../commands/credentials/database-credential.ts';
import { unlinkIdentity } from '../../commands/credentials/linked-identity.ts';
import { AGENT_ROLES } from '../../domain/agents/role-permissions.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import { MAX_SORT_KEY } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { agents } from '../../projections/agents/agent.ts';
import { agentsOpenTo } from '../../projections/agents/agent-access.queries.ts';
import { agentsGiven, MAX_GIVEN } from '../../projections/agents/given-credential.queries.ts';
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
    .array(
      z.object({
        agent_id: idOf('agent'),
        name: z.string().meta({ description: 'The name of the agent', examples: ['Triage'] }),
        given_at: Timestamp.meta({ description: 'When the agent got it' }),
      }),
    )
    .meta({
      description: `The agents that have this identity of the tenant, of those that the caller may see: the first ${MAX_GIVEN}, in the order in which they got it`,
      examples: [[]],
    }),
  given_count: z.int().meta({ description: 'How many agents have it, of those that the caller may see', examples: [0] }),
}).meta({ id: 'LinkedIdentityListRead' });

type Listed = z.output<typeof LinkedIdentityRead>;

/**
 * Returns the agents that have these identities. The identities are loaded, because the read model of agents does not
 * know which of them were unlinked.
 */
const givenOf = async (ctx: Ctx, ids: readonly string[], agent_ids: readonly string[] | undefined) => {
  const identities = await Promise.all(ids.map((id) => ctx.load(LinkedIdentity, id)));
  const linked = identities.filter(({ state }) => state.status === 'linked');
  return agentsGiven(ctx.reads, {
    ...{ tenant_id: ctx.tenant, agent_ids },
    ids: linked.map(({ id }) => id),
    revisions: linked.map(({ state }) => String(state.access_revision)),
  });
};

/** Adds the agents that have these identities. `visible` are the agents that the caller may see; undefined for all. */
const withAgents = async (ctx: Ctx, page: Page, visible: readonly string[] | undefined): Promise<Page> => {
  const found = JSON.parse(page.body) as Listed[];
  const given = await givenOf(
    ctx,
    found.map(({ id }) => id),
    visible,
  );
  const byIdentity = Map.groupBy(given, ({ identity_id }) => identity_id);
  const listed = found.map((identity) => {
    const agents = byIdentity.get(identity.id) ?? [];
    const given_to = agents.map(({ agent_id, name, given_at }) => ({ agent_id, name, given_at }));
    return { ...identity, given_to, given_count: agents[0]?.count ?? 0 };
  });
  return { ...page, body: JSON.stringify(listed) };
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
