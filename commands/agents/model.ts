import { z } from 'zod';
import * as Model from '../../domain/agents/model.ts';
import { displayText, Slug } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import { invalid } from '../../domain/refusal.ts';
import type { Ctx, Input } from '../context.ts';
import { createUnique } from '../create-unique.ts';

const MAX_SETTINGS_LENGTH = 65_536;

/**
 * Limits the length of the JSON that is stored. The limit for request bodies does not suffice: a number such as 1e20 is
 * longer in the stored event than in the request.
 */
const Settings = z
  .record(z.string(), z.unknown())
  .refine(
    (settings) => JSON.stringify(settings).length <= MAX_SETTINGS_LENGTH,
    `must have at most ${MAX_SETTINGS_LENGTH} characters as JSON`,
  );

export const ModelCreate = z
  .strictObject({
    provider: displayText(1, 64).meta({ description: 'The company or service that runs the model', examples: ['anthropic'] }),
    slug: Slug.meta({ description: 'The unique name of the model at its provider', examples: ['claude-sonnet'] }),
    name: displayText(1, 128).meta({ examples: ['Claude Sonnet'] }),
    available_to_all_tenants: z.boolean().default(true).meta({ description: 'Whether every tenant may use the model' }),
    config: Settings.default({}).meta({ description: 'Settings for runners; tenants cannot read them' }),
    description: z.string().nullable().default(null).meta({ description: 'What the model is good at' }),
    failover_chain: z
      .array(Id25)
      .max(5)
      .default([])
      .meta({ description: 'The models that replace this one while it is disabled, in their order' }),
    is_free: z.boolean().default(false).meta({ description: 'Whether its use costs nothing' }),
    pricing: Settings.default({}).meta({ description: 'The prices, in any form' }),
    status: z.enum(Model.MODEL_STATUSES).default('active').meta({ description: '`disabled` models cannot be added to chains' }),
  })
  .meta({ id: 'ModelCreate' });

/** Checks that the models of a failover chain exist. @throws Refusal invalid */
const checkChain = async (ctx: Ctx, chain: readonly string[]): Promise<void> => {
  const models = await Promise.all(chain.map((id) => ctx.load(Model, id)));
  const absent = models.findIndex(({ state }) => state.status === 'absent');
  if (absent >= 0) throw invalid(`/failover_chain/${absent}`, 'there is no such model', 'unknown_model');
};

/** Registers a model. @throws Refusal slug_taken, invalid */
export const registerModel = async (ctx: Ctx, fields: Input<typeof ModelCreate>) => {
  await checkChain(ctx, fields.failover_chain);
  return createUnique(ctx, Model, { kind: 'model', key: `${fields.provider}\0${fields.slug}`, claim: () => Model.register(fields) });
};
