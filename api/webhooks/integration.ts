import { z } from 'zod';
import type { Loaded } from '../../commands/context.ts';
import {
  connectIntegration,
  disconnectIntegration,
  integrationAsOf,
  rotateSecret,
  SecretRotate,
  type ShownIntegration,
  updateIntegration,
  WebhookIntegrationCreate,
  WebhookIntegrationUpdate,
} from '../../commands/webhooks/integration.ts';
import type { Position } from '../../domain/event.ts';
import { Id25 } from '../../domain/id.ts';
import { PROVIDERS } from '../../domain/webhooks/integration.ts';
import { lastDeliveriesUntil } from '../../projections/webhooks/delivery.queries.ts';
import {
  INTEGRATION_SORTS,
  integrationById,
  integrationCount,
  integrationPage,
  lastDeliveries,
} from '../../projections/webhooks/integration.queries.ts';
import { integrations, WebhookIntegrationRead, WebhookIntegrationSecret } from '../../projections/webhooks/integration.ts';
import type { Ctx } from '../http/operation.ts';
import { operation } from '../http/operation.ts';
import { asOfQuery, listQuery, windowOf, withTotalCount } from '../http/paging.ts';
import { staleIfError } from '../http/stale-if-error.ts';

const INTEGRATIONS = '/tenant/:tenant_id/webhook-integrations';
const INTEGRATION = `${INTEGRATIONS}/:id`;
const permit = 'tenant:integrations:write';

const lastKnown = staleIfError<Awaited<ReturnType<typeof lastDeliveries>>>({
  last_delivery_at: null,
  last_delivery_on_previous_secret_at: null,
});

/** The change is done: while the views are away its answer says when deliveries came last as they said it last, null where they never did. */
const withDeliveries = async (ctx: Ctx, { state, ...loaded }: Loaded<ShownIntegration>): Promise<Loaded<ShownIntegration>> => ({
  ...loaded,
  state: { ...state, ...(await ctx.sideEffect(() => lastKnown(ctx.reads, loaded.id, lastDeliveries(ctx.reads, loaded.id)))) },
});

const withDeliveriesUntil = async (ctx: Ctx, then: Loaded<ShownIntegration> | null, at: Position) => {
  if (!then) return null;
  const { last_delivery_on_previous_secret_at: latest } = await lastDeliveries(ctx.reads, then.id);
  return { ...then, state: { ...then.state, ...(await lastDeliveriesUntil(ctx.reads, ctx.tenant, then.id, at, latest !== null)) } };
};

export const integrationOperations = {
  listWebhookIntegrations: operation({
    method: 'get',
    path: INTEGRATIONS,
    summary: "List the tenant's webhook integrations",
    permit: 'tenant:read',
    query: listQuery({ agent_id: Id25.optional(), provider: z.enum(PROVIDERS).optional() }, INTEGRATION_SORTS),
    reply: z.array(WebhookIntegrationRead),
    projection: integrations.name,
    run: (ctx, { agent_id, provider, ...window }) => {
      const filter = { agent_id, provider };
      const page = integrationPage(ctx.reads, ctx.tenant, ctx.publicUrl, filter, windowOf(window, INTEGRATION_SORTS));
      return withTotalCount(filter, page, () => integrationCount(ctx.reads, ctx.tenant));
    },
  }),
  connectWebhookIntegration: operation({
    method: 'post',
    path: INTEGRATIONS,
    summary: 'Give a provider an address and a secret for its deliveries; the secret is shown this once',
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
    run: async (ctx, { id }) =>
      ctx.asOf
        ? withDeliveriesUntil(ctx, await integrationAsOf(ctx, id), ctx.asOf)
        : integrationById(ctx.reads, ctx.tenant, id, ctx.publicUrl),
  }),
  updateWebhookIntegration: operation({
    method: 'patch',
    path: INTEGRATION,
    summary: 'Change a webhook integration; absent fields stay',
    permit,
    body: WebhookIntegrationUpdate,
    reply: WebhookIntegrationRead,
    run: async (ctx, sent) => withDeliveries(ctx, await updateIntegration(ctx, sent)),
  }),
  rotateWebhookSecret: operation({
    method: 'post',
    path: `${INTEGRATION}/rotate-secret`,
    summary: 'Put a new secret in place; the one before stays good for the overlap; the new one is shown this once',
    permit,
    body: SecretRotate,
    reply: WebhookIntegrationSecret,
    location: INTEGRATION,
    oneTimeSecret: true,
    run: async (ctx, sent) => withDeliveries(ctx, await rotateSecret(ctx, sent)),
  }),
  disconnectWebhookIntegration: operation({
    method: 'delete',
    path: INTEGRATION,
    summary: 'Take back the address of a webhook integration',
    permit,
    run: disconnectIntegration,
  }),
};
