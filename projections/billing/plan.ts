import { z } from 'zod';
import * as Plan from '../../domain/billing/plan.ts';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { insert, type Projection } from '../projection.ts';
import type { Table } from '../table.ts';

const Count = z.int();

export const PlanRead = z
  .object({
    id: idOf('plan'),
    slug: z.string().meta({ description: 'The unique name, for programs; it never changes', examples: ['team'] }),
    name: z.string().meta({ examples: ['Team'] }),
    monthly_usd: z.number().meta({ description: 'The price per month in US dollars', examples: [49] }),
    price_id: z
      .string()
      .nullable()
      .meta({ description: 'The id of the price at the payment provider', examples: [null] }),
    limits: z
      .object({
        agents: Count.meta({ description: 'How many agents a tenant may have', examples: [10] }),
        members: Count.meta({ description: 'How many members a tenant may have', examples: [5] }),
        cron_jobs: Count.meta({ description: 'How many cron jobs a tenant may have', examples: [10] }),
        webhooks_per_minute: Count.meta({ description: 'How many new deliveries a tenant may get per minute', examples: [600] }),
      })
      .meta({ description: 'The limits of the plan' }),
    created_at: Timestamp,
  })
  .meta({ id: 'PlanRead' });

export const table = {
  name: 'plans',
  key: ['id'],
  stream: 'plan',
  columns: { id: 'text', price_id: 'text', created_at: 'timestamptz' },
  docs: { doc: PlanRead },
  indexes: [{ columns: ['created_at', 'id'] }, { columns: ['price_id', 'created_at', 'id'] }],
} as const satisfies Table;

export const plans = {
  name: 'plans',
  version: 2,
  categories: ['plan'],
  tables: [table],
  on: { PlanCreated: (event) => insert('plans', PlanRead.parse(Plan.evolve(Plan.initial, event))) },
} as const satisfies Projection<Plan.PlanEvent>;
