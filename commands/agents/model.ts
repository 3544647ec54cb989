import { z } from 'zod';
import * as Model from '../../domain/agents/model.ts';
import { jsonEqual } from '../../domain/aggregate.ts';
import { displayText, Slug } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { Ctx, Input } from '../context.ts';
import { createUnique } from '../create-unique.ts';
import { JsonObjectField } from '../json-schema-validator.ts';
import { assertModelsExist, recordChain } from './failover-chain.ts';

const MAX_FAILOVERS = 5;

const MAX_PRICE = 1_000_000;

/** Prices per token must be numbers, because costs are computed from them; other prices can have any form. */
const Pricing = JsonObjectField.superRefine((pricing, issues) => {
  for (const [name, price] of Object.entries(pricing))
    if (name.endsWith('_per_mtok') && !(typeof price === 'number' && price >= 0 && price <= MAX_PRICE))
      issues.addIssue({ code: 'custom', path: [name], message: `must be a number from 0 to ${MAX_PRICE}` });
});

export const ModelCreate = z
  .strictObject({
    provider: displayText(1, 64).meta({ description: 'The company or service that runs the model', examples: ['anthropic'] }),
    slug: Slug.meta({ description: 'The unique name of the model at its provider', examples: ['claude-sonnet'] }),
    name: displayText(1, 128).meta({ examples: ['Claude Sonnet'] }),
    available_to_all_tenants: z.boolean().default(true).meta({ description: 'Whether every tenant may use the model' }),
    config: JsonObjectField.default({}).meta({ description: 'Settings for runners; tenants cannot read them' }),
    description: z.string().nullable().default(null).meta({ description: 'What the model is good at' }),
    failover_chain: z
      .array(Id25)
      .max(MAX_FAILOVERS)
      .default([])
      .meta({ description: 'The models that replace this one while it is disabled, in their order' }),
    is_free: z.boolean().default(false).meta({ description: 'Whether its use costs nothing' }),
    pricing: Pricing.default({}).meta({
      description: 'The prices. `input_per_mtok` and `output_per_mtok` are in US dollars per million tokens',
      examples: [{ input_per_mtok: 3, output_per_mtok: 15 }],
    }),
    status: z.enum(Model.MODEL_STATUSES).default('active').meta({ description: '`disabled` models cannot be added to chains' }),
  })
  .meta({ id: 'ModelCreate' });

const created = ModelCreate.shape;

export const AdminModelUpdate = z
  .strictObject({
    available_to_all_tenants: z.boolean().nullish().meta(created.available_to_all_tenants.meta()!),
    config: JsonObjectField.nullish().meta(created.config.meta()!),
    description: z.string().nullish().meta(created.description.meta()!),
    failover_chain: z.array(Id25).max(MAX_FAILOVERS).nullish().meta(created.failover_chain.meta()!),
    is_free: z.boolean().nullish().meta(created.is_free.meta()!),
    name: displayText(1, 128).nullish().meta(created.name.meta()!),
    pricing: Pricing.nullish().meta(created.pricing.meta()!),
    status: z.enum(Model.MODEL_STATUSES).nullish().meta(created.status.meta()!),
  })
  .meta({ id: 'AdminModelUpdate', examples: [{ status: 'deprecated', description: 'Use its successor' }] });

/** @throws Refusal slug_taken, invalid */
export const registerModel = async (ctx: Ctx, fields: Input<typeof ModelCreate>) => {
  // The model does not exist yet, so no other model has it in its chain, and the new chain cannot lead back to it.
  await assertModelsExist(ctx, fields.failover_chain);
  return createUnique(ctx, Model, { kind: 'model', key: `${fields.provider}\0${fields.slug}`, claim: () => Model.register(fields) });
};

/** @throws Refusal not_found, invalid */
export const updateModel = async (ctx: Ctx, { model_id, ...changes }: Input<typeof AdminModelUpdate, 'model_id'>) => {
  const { state } = await ctx.load(Model, model_id);
  Model.assertExists(state);
  const chain = changes.failover_chain === null ? [] : changes.failover_chain;
  // Stores whether the chain changes, so that a repeat with the same Idempotency-Key does the same.
  const isChanged = await ctx.sideEffect(async () => chain !== undefined && !jsonEqual(chain, state.failover_chain));
  if (chain && isChanged) {
    await assertModelsExist(ctx, chain);
    await recordChain(ctx, model_id, chain);
  }
  return ctx.transact(Model, model_id, Model.update(changes));
};

type ModelAndTenant = { readonly model_id: string; readonly tenant_id: string };

const assertTenant = async (ctx: Ctx, tenant_id: string): Promise<void> => {
  const { state } = await ctx.load(Tenant, tenant_id, { tenant: tenant_id });
  if (state.status === 'absent') throw new Refusal('not_found', 'There is no such tenant');
};

/** For a model that only some tenants may use. @throws Refusal not_found */
export const openModelToTenant = async (ctx: Ctx, { model_id, tenant_id }: ModelAndTenant) => {
  await assertTenant(ctx, tenant_id);
  return ctx.transact(Model, model_id, Model.openToTenant(tenant_id));
};

/** The tenant can then use the model only if it is available to all. @throws Refusal not_found if the model does not exist */
export const closeModelToTenant = async (ctx: Ctx, { model_id, tenant_id }: ModelAndTenant) => {
  await assertTenant(ctx, tenant_id);
  return ctx.transact(Model, model_id, Model.closeToTenant(tenant_id));
};
