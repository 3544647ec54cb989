import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { applyResets } from '../../domain/aggregate.ts';
import { displayText, integer, text } from '../../domain/fields.ts';
import { Id25, idOf } from '../../domain/id.ts';
import { FieldSource, IntegrationOptions } from '../../domain/integrations/conventions/integration-options.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import { PROVIDERS } from '../../domain/integrations/provider.ts';
import { createSecret, readSecret } from '../../domain/integrations/provider-secret.ts';
import { sampleEvents } from '../../domain/integrations/sample-delivery.ts';
import { invalid } from '../../domain/refusal.ts';
import { secret } from '../../domain/secret.ts';
import type { Ctx, Input, Loaded, SecretLocation } from '../context.ts';

const Label = displayText(1, 128);
const EventFilter = z.array(displayText(1, 128)).max(100);
const SecretText = text(1, 1024);
const ReplayGuard = z.enum(Integration.REPLAY_GUARDS);

export const WebhookIntegrationCreate = z
  .strictObject({
    provider: z.enum(PROVIDERS).meta({ description: 'The service that sends the deliveries', examples: ['github'] }),
    agent_id: idOf('agent', 'The agent that gets the deliveries'),
    label: Label.meta({ description: 'What people see in lists', examples: ['My repository'] }),
    delivery_id_source: FieldSource.nullable().default(null).meta({
      description:
        'For custom_hmac, where the delivery id is: a header, or a JSON pointer to a field of the body. If null, it is the digest of the body',
    }),
    replay_guard: ReplayGuard.optional().meta({
      description:
        'What happens to a known body with a new delivery id: `mark` it, `block` it, or nothing (`off`). Default: `off` if the provider signs the delivery id, else `mark`',
    }),
    event_filter: EventFilter.default([]).meta({ description: 'The provider events to accept; if empty, all' }),
    options: IntegrationOptions.default({}).meta({ description: 'How custom_hmac signs; standard_webhooks has the option `algorithm`' }),
    secret: SecretText.optional().meta({
      description: 'The secret, or the public key of the sender. If absent, the platform creates one, unless the provider creates its own',
    }),
  })
  .meta({ id: 'WebhookIntegrationCreate' });

export const WebhookIntegrationUpdate = z
  .strictObject({
    label: Label.nullish().meta({ description: 'What people see in lists', examples: ['My repository'] }),
    agent_id: Id25.nullish().meta({ description: 'The agent that gets the deliveries' }),
    event_filter: EventFilter.nullish().meta({ description: 'The provider events to accept; if empty, all' }),
    replay_guard: ReplayGuard.nullish().meta({
      description: 'What happens to a known body with a new delivery id: `mark` it, `block` it, or nothing (`off`)',
    }),
    options: IntegrationOptions.nullish().meta({ description: 'How custom_hmac signs; standard_webhooks has the option `algorithm`' }),
    is_paused: z.boolean().nullish().meta({ description: 'Whether deliveries are recorded as blocked' }),
    paused_reason: displayText(1, 1024).nullish().meta({ description: 'Why the integration is paused' }),
  })
  .meta({ id: 'WebhookIntegrationUpdate', examples: [{ is_paused: true, paused_reason: 'The repository moves' }] });

export const SecretRotate = z
  .strictObject({
    overlap_seconds: integer(0, 604_800)
      .default(86_400)
      .meta({ description: 'How long the previous secret is accepted, in seconds', examples: [3600] }),
    secret: SecretText.optional().meta({
      description: 'The new secret. If absent, the platform creates one, unless the provider creates its own',
    }),
  })
  .meta({ id: 'SecretRotate' });

/** `secret`: only if the request has created or replaced it. */
export type IntegrationView = Integration.Integration & {
  url: string;
  last_delivery_at: string | null;
  last_delivery_on_previous_secret_at: string | null;
  test_events: readonly string[];
  secret?: string;
};

export const secretLocation = (tenant: string, id: string): SecretLocation => ({
  tenant,
  category: Integration.category,
  id,
  field: 'secret',
});

const viewOf = (ctx: Ctx, { state, ...loaded }: Loaded<Integration.Integration>, plaintext?: string): Loaded<IntegrationView> => ({
  ...loaded,
  state: {
    ...state,
    url: `${ctx.publicUrl}${Integration.inboundPath(loaded.id)}`,
    last_delivery_at: null,
    last_delivery_on_previous_secret_at: null,
    test_events: sampleEvents(state.provider),
    ...(plaintext === undefined ? {} : { secret: plaintext }),
  },
});

/** The state at the context's log position; null if it was not connected then. */
export const integrationAsOf = async (ctx: Ctx, id: string): Promise<Loaded<IntegrationView> | null> => {
  const loaded = await ctx.load(Integration, id);
  return loaded.state.status === 'connected' && loaded.state.tenant_id === ctx.tenant ? viewOf(ctx, loaded) : null;
};

/** @throws Refusal invalid if the tenant does not have this agent */
const checkAgent = async (ctx: Ctx, agent_id: string): Promise<void> => {
  const { state } = await ctx.load(Agent, agent_id);
  if (state.status !== 'live') throw invalid('/agent_id', 'there is no such agent', 'unknown_agent');
};

/** With the webhook URL and the secret, a provider can send deliveries to an agent. @throws Refusal invalid */
export const connectIntegration = async (
  ctx: Ctx,
  input: Input<typeof WebhookIntegrationCreate, 'tenant_id'>,
): Promise<Loaded<IntegrationView>> => {
  const { tenant_id, secret: pasted, ...settings } = input;
  const chosen = Integration.checkConnection(input, pasted);
  const connection = { ...settings, replay_guard: input.replay_guard ?? Integration.defaultReplayGuard(input) };
  await checkAgent(ctx, input.agent_id);
  const id = ctx.newId();
  const plaintext = chosen ?? createSecret(input.provider, ctx.secrets.random);
  const sealed_secret = await ctx.secrets.seal(secretLocation(ctx.tenant, id), secret(plaintext));
  const data = { ...connection, tenant_id, sealed_secret, secret_hint: Integration.secretHint(plaintext) };
  return viewOf(ctx, await ctx.transact(Integration, id, Integration.connect(data), { expectNew: true }), plaintext);
};

/** The values that null in an update sets. */
const resetsOf = (integration: Integration.Integration) => ({
  event_filter: [],
  replay_guard: Integration.defaultReplayGuard(integration),
  options: {},
  is_paused: false,
  paused_reason: null,
});

/** Absent fields do not change. Null sets a field that has a default to this default. @throws Refusal not_found, invalid */
export const updateIntegration = async (
  ctx: Ctx,
  input: Input<typeof WebhookIntegrationUpdate, 'tenant_id' | 'id'>,
): Promise<Loaded<IntegrationView>> => {
  const { tenant_id, id, ...changes } = input;
  const { agent_id } = changes;
  const update = (integration: Integration.Integration) =>
    Integration.update(tenant_id, applyResets(changes, resetsOf(integration)))(integration);
  if (agent_id) {
    update((await ctx.load(Integration, id)).state);
    // A repeat with the same Idempotency-Key does not check again, and succeeds even if the agent was deleted.
    await ctx.sideEffect(() => checkAgent(ctx, agent_id));
  }
  return viewOf(ctx, await ctx.transact(Integration, id, update));
};

/** The previous secret stays valid for `overlap_seconds`. @throws Refusal not_found, invalid */
export const rotateSecret = async (ctx: Ctx, input: Input<typeof SecretRotate, 'tenant_id' | 'id'>): Promise<Loaded<IntegrationView>> => {
  const { tenant_id, id, overlap_seconds, secret: pasted } = input;
  const { state } = await ctx.load(Integration, id);
  Integration.assertConnected(state, tenant_id);
  const chosen = readSecret(state.provider, state.options, pasted);
  const plaintext = chosen ?? createSecret(state.provider, ctx.secrets.random);
  const rotated = {
    sealed_secret: await ctx.secrets.seal(secretLocation(ctx.tenant, id), secret(plaintext)),
    secret_hint: Integration.secretHint(plaintext),
  };
  return viewOf(
    ctx,
    await ctx.transact(Integration, id, Integration.rotateSecret(tenant_id, rotated, overlap_seconds, ctx.at())),
    plaintext,
  );
};

/** From now on, the previous secret is not accepted. @throws Refusal not_found */
export const dropPreviousSecret = (ctx: Ctx, { tenant_id, id }: { tenant_id: string; id: string }) =>
  ctx.transact(Integration, id, Integration.dropPreviousSecret(tenant_id));

/** Its webhook URL accepts no more deliveries. @throws Refusal not_found */
export const disconnectIntegration = (ctx: Ctx, { tenant_id, id }: { tenant_id: string; id: string }) =>
  ctx.transact(Integration, id, Integration.disconnect(tenant_id));
