import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { omit } from '../../domain/omit.ts';
import * as Blackout from '../../domain/schedule/blackout.ts';
import { insert, type Projection, patch, remove } from '../projection.ts';
import type { Table } from '../table.ts';
import { tenantCounter } from '../tenant-counter.ts';

const Day = z.string().meta({ format: 'date', examples: ['2026-12-24'] });

export const CronBlackoutRead = z
  .object({
    id: idOf('blackout'),
    tenant_id: idOf('tenant'),
    agent_id: z
      .string()
      .nullable()
      .meta({ description: 'The agent whose jobs do not fire; null: every agent', examples: [null] }),
    name: z.string().meta({ examples: ['Holidays'] }),
    reason: z
      .string()
      .nullable()
      .meta({ description: 'Why jobs do not fire', examples: ['The office is closed'] }),
    start_date: Day.meta({ description: 'The first day' }),
    end_date: Day.meta({ description: 'The last day, which belongs to the blackout' }),
    timezone: z.string().meta({ description: 'The time zone of the days', examples: ['Europe/Berlin'] }),
    recurring_yearly: z.boolean().meta({ description: 'Whether the blackout comes back every year' }),
    created_by_user_id: z
      .string()
      .nullable()
      .meta({ description: 'Who declared it', examples: ['c1u33xtplpft75v2seh60kvj5'] }),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'CronBlackoutRead' });

export const table = {
  name: 'blackouts',
  key: ['tenant_id', 'id'],
  stream: Blackout.category,
  columns: {
    tenant_id: 'text',
    id: 'text',
    agent_id: 'text',
    name: 'text',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  docs: { doc: CronBlackoutRead },
  indexes: [{ columns: ['tenant_id', 'created_at', 'id'] }],
} as const satisfies Table;

export const blackoutCounter = tenantCounter('blackout', 'blackouts');

/** The blackouts: times in which cron jobs of a tenant do not fire. */
export const blackouts = {
  name: 'blackouts',
  version: 1,
  categories: [Blackout.category],
  tables: [table, blackoutCounter.table],
  on: {
    BlackoutDeclared: (event) => {
      const row = omit(Blackout.evolve(Blackout.initial, event), 'status');
      return [insert('blackouts', row), blackoutCounter.add(event.tenant, 1)];
    },
    BlackoutChanged: ({ tenant, id, at, data }) => patch('blackouts', { tenant_id: tenant, id }, { ...data, updated_at: at }),
    BlackoutLifted: ({ tenant, id }) => [remove('blackouts', { tenant_id: tenant, id }), blackoutCounter.add(tenant, -1)],
  },
} as const satisfies Projection<Blackout.BlackoutEvent>;
