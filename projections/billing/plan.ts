import { z } from 'zod';
import * as Plan from '../../domain/billing/plan.ts';
import { Id25 } from '../../domain/id.ts';
import { insert, type Projection } from '../projection.ts';
import type { Table } from '../table.ts';

const Count = z.int();

export const PlanRead = z
  .object({
    id: Id25,
    slug: z.string(),
    name: z.string(),
    monthly_usd: z.number(),
    price_id: z.string().nullable(),
    limits: z.object({ agents: Count, members: Count, cron_jobs: Count, webhooks_per_minute: Count }),
    created_at: z.string(),
  })
  .meta({ id: 'PlanRead' });

export const table = {
  name: 'plans',
  key: ['id'],
  stream: 'plan',
  columns: { id: 'text', created_at: 'timestamptz' },
  docs: { doc: PlanRead },
  indexes: [{ columns: ['created_at', 'id'] }],
} as const satisfies Table;

/** The plans that tenants can subscribe to. */
export const plans = {
  name: 'plans',
  version: 1,
  categories: ['plan'],
  tables: [table],
  on: { PlanCreated: (event) => insert('plans', PlanRead.parse(Plan.evolve(Plan.initial, event))) },
} as const satisfies Projection<Plan.PlanEvent>;
