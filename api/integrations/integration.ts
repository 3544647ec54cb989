import { z } from 'zod';
import type { Loaded } from '../../commands/context.ts';
import {
  connectIntegration,
  disconnectIntegration,
  dropPreviousSecret,
  type IntegrationView,
  integrationAsOf,
  rotateSecret,
  SecretRotate,
  updateIntegration,
  WebhookIntegrationCreate,
  WebhookIntegrationUpdate,
} from '../../commands/integrations/integration.ts';
import type { Position } from '../../domain/event.ts';
import { Id25 } from '../../domain/id.ts';
import { PROVIDERS } from '../../domain/integrations/provider.ts';
import { lastDeliveriesUntil } from '../../projections/deliveries/delivery.queries.ts';
import {
  INTEGRATION_SORTS,
  integrationById,
  integrationCount,
  integrationPage,
  lastDeliveries,
} from '../../projections/integrations/integration.queries.ts';
import { integrations, WebhookIntegrationRead, WebhookIntegrationSecret } from '../../projections/integrations/integration.ts';
import { hiddenAgents } from '../agents/readable-agents.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery, listQuery, windowOf, withTotalCount } from '../http/paging.ts';
import { staleIfError } from '../http/stale-if-error.ts';

const INTEGRATIONS = '/tenant/:tenant_id/webhook-integrations';
const INTEGRATION = `${INTEGRATIONS}/:id`;
const permit = 'tenant:integrations:write';

const lastKnownDeliveries = staleIfError<Awaited<ReturnType<typeof lastDeliveries>>>({
  last_delivery_at: null,
  last_delivery_on_previous_secret_at: null,
});

/**
 * Adds the times of the last deliveries to an integration. If the read models are unavailable, these are the last known
 * times, or null if there are none.
 */
const withDeliveries = async (ctx: Ctx, { state, ...loaded }: Loaded<IntegrationView>): Promise<Loaded<IntegrationView>> => ({
  ...loaded,
  state: { ...state, ...(await ctx.sideEffect(() => lastKnownDeliveries(ctx.reads, loaded.id, lastDeliveries(ctx.reads, loaded.id)))) },
});

/** Adds the times of its last deliveries up to the position `at` to an integration. */
const withDeliveriesUntil = async (ctx: Ctx, integration: Loaded<IntegrationView> | null, at: Position) => {
  if (!integration) return null;
  const { last_delivery_on_previous_secret_at: latest } = await lastDeliveries(ctx.reads, integration.id);
  const key = { tenant_id: ctx.tenant, integration_id: integration.id };
  const times = await lastDeliveriesUntil(ctx.reads, key, at, latest !== null);
  return { ...integration, state: { ...integration.state, ...times } };
};

/** Returns one integration; null if there is none, or if the caller may not know its agent. */
const readIntegration = async (ctx: Ctx, { id }: { id: string }) => {
  const hidden = await hiddenAgents(ctx);
  if (ctx.asOf) {
    const found = await integrationAsOf(ctx, id);
    return found && hidden.includes(found.state.agent_id) ? null : withDeliveriesUntil(ctx, found, ctx.asOf);
  }
  const found = await integrationById(ctx.reads, ctx.tenant, id, ctx.publicUrl);
  if (!found || hidden.length === 0) return found;
  const { agent_id } = JSON.parse(found.doc) as { readonly agent_id: string };
  return hidden.includes(agent_id) ? null : found;
};

export const integrationOperations = {
  listWebhookIntegrations: operation({
    method: 'get',
    path: INTEGRATIONS,
    summary: "List the tenant's webhook integrations",
    permit: 'tenant:read',
    query: listQuery(
      {
        agent_id: Id25.optional().meta({ description: 'Only integrations of this agent' }),
        provider: z.enum(PROVIDERS).optional().meta({ description: 'Only integrations of this provider' }),
      },
      INTEGRATION_SORTS,
    ),
    reply: z.array(WebhookIntegrationRead),
    projection: integrations.name,
    run: async (ctx, { agent_id, provider, ...window }) => {
      const except = await hiddenAgents(ctx);
      const page = integrationPage(
        ctx.reads,
        { tenant_id: ctx.tenant, publicUrl: ctx.publicUrl },
        { agent_id, provider, except: except.length > 0 ? except : undefined },
        windowOf(window, INTEGRATION_SORTS),
      );
      // The stored count includes the integrations that the caller may not see.
      if (except.length > 0) return page;
      return withTotalCount({ agent_id, provider }, page, () => integrationCount(ctx.reads, ctx.tenant));
    },
  }),
  connectWebhookIntegration: operation({
    method: 'post',
    path: INTEGRATIONS,
    summary: 'Connect a provider',
    details: 'Creates a URL and a secret for its deliveries. Only this response shows the secret.',
    permit,
    body: WebhookIntegrationCreate,
    reply: WebhookIntegrationSecret,
    status: 201,
    location: INTEGRATION,
    oneTimeSecret: true,
    run: connectIntegration,
  }),
  getWebhookIntegration: operation({
    method: 'get',
    path: INTEGRATION,
    summary: 'Read a webhook integration',
    permit: 'tenant:read',
    reply: WebhookIntegrationRead,
    query: asOfQuery,
    projection: integrations.name,
    noConditionalGet: true,
    run: readIntegration,
  }),
  updateWebhookIntegration: operation({
    method: 'patch',
    path: INTEGRATION,
    summary: 'Change a webhook integration',
    details: 'Absent fields stay unchanged.',
    permit,
    body: WebhookIntegrationUpdate,
    reply: WebhookIntegrationRead,
    run: async (ctx, input) => withDeliveries(ctx, await updateIntegration(ctx, input)),
  }),
  rotateWebhookSecret: operation({
    method: 'post',
    path: `${INTEGRATION}/rotate-secret`,
    summary: 'Replace the secret of a webhook integration',
    details: 'The previous secret stays valid for `overlap_seconds`. Only this response shows the new one.',
    permit,
    body: SecretRotate,
    reply: WebhookIntegrationSecret,
    location: INTEGRATION,
    oneTimeSecret: true,
    run: async (ctx, input) => withDeliveries(ctx, await rotateSecret(ctx, input)),
  }),
  dropPreviousWebhookSecret: operation({
    method: 'delete',
    path: `${INTEGRATION}/previous-secret`,
    summary: 'Drop the previous secret of an integration',
    details: 'Ends the overlap after a rotation: deliveries with that signature are rejected from then on.',
    permit,
    run: dropPreviousSecret,
  }),
  disconnectWebhookIntegration: operation({
    method: 'delete',
    path: INTEGRATION,
    summary: 'Disconnect a webhook integration',
    details: 'Its URL stops working.',
    permit,
    run: disconnectIntegration,
  }),
};
