import { z } from 'zod';
import { Id25 } from '../domain/id.ts';
import * as Model from '../domain/model.ts';
import { Slug, text } from '../domain/text.ts';
import type { Ctx, Input } from './context.ts';
import { createNatural } from './natural.ts';

const LONGEST = 65_536;

/** Numbers grow when they are written out: what came in a body may be too long for the log. */
const Settings = z
  .record(z.string(), z.unknown())
  .refine((settings) => JSON.stringify(settings).length <= LONGEST, `may have at most ${LONGEST} characters as JSON`);

export const ModelCreate = z
  .strictObject({
    provider: text(1, 64),
    slug: Slug,
    name: text(1, 128),
    available_to_all_tenants: z.boolean().default(true),
    config: Settings.default({}),
    description: z.string().nullable().default(null),
    failover_chain: z.array(Id25).max(5).default([]),
    is_free: z.boolean().default(false),
    pricing: Settings.default({}),
    status: z.enum(Model.MODEL_STATUSES).default('active'),
  })
  .meta({ id: 'ModelCreate' });

/** @throws Refusal slug_taken */
export const registerModel = (ctx: Ctx, fields: Input<typeof ModelCreate>) =>
  createNatural(ctx, Model, { kind: 'model', key: `${fields.provider}\0${fields.slug}`, claim: () => Model.register(fields) });
