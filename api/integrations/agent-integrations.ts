import { z } from 'zod';
import { loadAgent } from '../../commands/agents/agent.ts';
import { OAUTH_PROVIDERS } from '../../domain/credentials/oauth-provider.ts';
import { PROVIDER_DEFINITIONS } from '../../domain/integrations/provider.ts';
import { linkedProvidersOf } from '../../projections/credentials/linked-identity.queries.ts';
import { linkedIdentities } from '../../projections/credentials/linked-identity.ts';
import { readCursorKey, writeCursor } from '../../projections/cursor.ts';
import { activeProvidersOf } from '../../projections/integrations/integration.queries.ts';
import { integrations } from '../../projections/integrations/integration.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { listQuery, type PageWindow } from '../http/paging.ts';

const AgentIntegrationRead = z
  .object({
    provider: z.string().meta({ description: 'The identifier of the provider', examples: ['github'] }),
    label: z.string().meta({ description: 'The name of the provider for people', examples: ['GitHub'] }),
    connected: z.boolean().meta({
      description: 'Whether the agent has an account at the provider, or an integration of it that is not paused',
      examples: [true],
    }),
  })
  .meta({ id: 'AgentIntegrationRead' });

/**
 * Maps the identifiers of all providers to their names. Some providers send webhooks; others only support connecting an
 * account.
 */
const LABELS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({ ...OAUTH_PROVIDERS, ...PROVIDER_DEFINITIONS }).map(([provider, { label }]) => [provider, label]),
);
const SORTED_PROVIDERS = Object.keys(LABELS).toSorted();

/** Lists every provider, ordered by identifier. @throws Refusal not_found, invalid */
const listIntegrations = async (ctx: Ctx, { agent_id, limit, cursor }: PageWindow & { agent_id: string }) => {
  await loadAgent(ctx, agent_id);
  const after = readCursorKey(cursor, 'text', null)?.[1] ?? '';
  const remaining = SORTED_PROVIDERS.filter((provider) => provider > after);
  const page = remaining.slice(0, limit);
  const [active, linked] = await Promise.all([
    activeProvidersOf(ctx.reads, ctx.tenant, agent_id),
    linkedProvidersOf(ctx.reads, ctx.tenant, agent_id),
  ]);
  const isConnected = (provider: string): boolean => active.has(provider) || linked.has(provider);
  const items = page.map((provider) => ({ provider, label: LABELS[provider], connected: isConnected(provider) }));
  const last = page.at(-1);
  return { body: JSON.stringify(items), next: last && remaining.length > limit ? writeCursor([last, last], null) : null };
};

export const agentIntegrationOperations = {
  listAgentIntegrations: operation({
    method: 'get',
    path: '/tenant/:tenant_id/agents/:agent_id/integrations',
    summary: 'List the providers that an agent can connect',
    details: 'Each shows whether it is connected to the agent.',
    permit: 'agent:read',
    query: listQuery({}).omit({ sort: true }),
    reply: z.array(AgentIntegrationRead),
    projection: integrations.name,
    otherProjections: [linkedIdentities.name],
    run: listIntegrations,
  }),
};
