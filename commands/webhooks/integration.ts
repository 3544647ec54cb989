import { z } from 'zod';
import * as Agent from '../../domain/agents/agent.ts';
import { applyResets } from '../../domain/aggregate.ts';
import { text } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import { invalid } from '../../domain/refusal.ts';
import { secret } from '../../domain/secret.ts';
import * as Integration from '../../domain/webhooks/integration.ts';
import type { Ctx, Input, Loaded, SecretPlace } from '../context.ts';

const Label = text(1, 128);
const EventFilter = z.array(text(1, 128)).max(100);
const SecretText = text(1, 1024);
const Options = z.strictObject({});
const ReplayGuard = z.enum(Integration.REPLAY_GUARDS);

export const WebhookIntegrationCreate = z
  .strictObject({
    provider: z.enum(Integration.PROVIDERS),
    agent_id: Id25,
    label: Label,
    delivery_id_source: text(1, 256).nullable().default(null),
    replay_guard: ReplayGuard.default('mark'),
    event_filter: EventFilter.default([]),
    options: Options.default({}),
    secret: SecretText.optional(),
  })
  .meta({ id: 'WebhookIntegrationCreate' });

export const WebhookIntegrationUpdate = z
  .strictObject({
    label: Label.nullish(),
    agent_id: Id25.nullish(),
    event_filter: EventFilter.nullish(),
    replay_guard: ReplayGuard.nullish(),
    options: Options.nullish(),
    is_paused: z.boolean().nullish(),
    paused_reason: text(1, 1024).nullish(),
  })
  .meta({ id: 'WebhookIntegrationUpdate' });

export const SecretRotate = z
  .strictObject({ overlap_seconds: z.int().min(0).max(604_800).default(86_400), secret: SecretText.optional() })
  .meta({ id: 'SecretRotate' });

/** An integration as it answers the caller who made or changed it; `secret` is shown in that answer alone. */
export type ShownIntegration = Integration.Integration & {
  url: string;
  last_delivery_at: string | null;
  last_delivery_on_previous_secret_at: string | null;
  secret?: string;
};

/** Base62 characters for 32 random bytes. */
const SECRET_CHARACTERS = 43;

const placeOf = (tenant: string, id: string): SecretPlace => ({ tenant, category: Integration.category, id, field: 'secret' });

const shown = (ctx: Ctx, { state, ...loaded }: Loaded<Integration.Integration>, plain?: string): Loaded<ShownIntegration> => ({
  ...loaded,
  state: {
    ...state,
    url: `${ctx.publicUrl}${Integration.pathOf(loaded.id)}`,
    last_delivery_at: null,
    last_delivery_on_previous_secret_at: null,
    ...(plain === undefined ? {} : { secret: plain }),
  },
});

/** An integration of the tenant as the context's time has it; null where it was not there. */
export const integrationAsOf = async (ctx: Ctx, id: string): Promise<Loaded<ShownIntegration> | null> => {
  const loaded = await ctx.load(Integration, id);
  return loaded.state.status === 'connected' && loaded.state.tenant_id === ctx.tenant ? shown(ctx, loaded) : null;
};

/** @throws Refusal invalid where the tenant has no such agent */
const checkAgent = async (ctx: Ctx, agent_id: string): Promise<void> => {
  const { state } = await ctx.load(Agent, agent_id);
  if (state.status !== 'live') throw invalid('/agent_id', 'there is no such agent', 'unknown_agent');
};

/** Gives a provider an address and a secret for its deliveries to an agent. @throws Refusal invalid */
export const connectIntegration = async (
  ctx: Ctx,
  input: Input<typeof WebhookIntegrationCreate, 'tenant_id'>,
): Promise<Loaded<ShownIntegration>> => {
  const { tenant_id, secret: given, ...connection } = input;
  Integration.checkConnection(input.provider, input.delivery_id_source, given);
  await checkAgent(ctx, input.agent_id);
  const id = ctx.newId();
  const plain = given ?? ctx.random(SECRET_CHARACTERS);
  const sealed_secret = await ctx.seal(placeOf(ctx.tenant, id), secret(plain));
  const data = { ...connection, tenant_id, sealed_secret, secret_hint: Integration.hintOf(plain) };
  return shown(ctx, await ctx.transact(Integration, id, Integration.connect(data), { expectNew: true }), plain);
};

/** What null means for the fields that it does not leave as they are. */
const resets = { event_filter: [], replay_guard: 'mark', options: {}, is_paused: false, paused_reason: null } as const;

/** @throws Refusal not_found, invalid */
export const updateIntegration = async (
  ctx: Ctx,
  input: Input<typeof WebhookIntegrationUpdate, 'tenant_id' | 'id'>,
): Promise<Loaded<ShownIntegration>> => {
  const { tenant_id, id, ...changes } = input;
  const update = Integration.update(tenant_id, applyResets(changes, resets));
  const { agent_id } = changes;
  if (agent_id) {
    update((await ctx.load(Integration, id)).state);
    // Of the request that was answered: a repeat is told the same, though the agent be gone by then.
    await ctx.sideEffect(() => checkAgent(ctx, agent_id));
  }
  return shown(ctx, await ctx.transact(Integration, id, update));
};

/** Puts a new secret in the old one's place, which stays good for the overlap. @throws Refusal not_found, invalid */
export const rotateSecret = async (ctx: Ctx, input: Input<typeof SecretRotate, 'tenant_id' | 'id'>): Promise<Loaded<ShownIntegration>> => {
  const { tenant_id, id, overlap_seconds, secret: given } = input;
  const { state } = await ctx.load(Integration, id);
  Integration.present(state, tenant_id);
  Integration.checkSecret(given);
  const plain = given ?? ctx.random(SECRET_CHARACTERS);
  const rotated = { sealed_secret: await ctx.seal(placeOf(ctx.tenant, id), secret(plain)), secret_hint: Integration.hintOf(plain) };
  return shown(ctx, await ctx.transact(Integration, id, Integration.rotateSecret(tenant_id, rotated, overlap_seconds, ctx.at())), plain);
};

/** @throws Refusal not_found */
export const disconnectIntegration = (ctx: Ctx, { tenant_id, id }: { tenant_id: string; id: string }) =>
  ctx.transact(Integration, id, Integration.disconnect(tenant_id));
