import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

/** The use of language models by a tenant. The cost is in micro-dollars. */
export type Usage = {
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_micros: number;
};

const tenantUsage = defineQuery((db, { tenant_id, day }: { tenant_id: string; day: string }) =>
  db
    .selectFrom('sessions.usage_days as usage')
    .select(({ fn, cast, lit }) => [
      cast<number>(fn.coalesce(fn.sum('usage.requests'), lit(0)), 'double precision').as('requests'),
      cast<number>(fn.coalesce(fn.sum('usage.prompt_tokens'), lit(0)), 'double precision').as('input_tokens'),
      cast<number>(fn.coalesce(fn.sum('usage.completion_tokens'), lit(0)), 'double precision').as('output_tokens'),
      cast<number>(fn.coalesce(fn.sum('usage.cost_micros'), lit(0)), 'double precision').as('cost_micros'),
    ])
    .where('usage.tenant_id', '=', tenant_id)
    .where('usage.day', '>=', day),
);

/** Returns how a tenant has used language models since the start of a day (UTC, YYYY-MM-DD). */
export const usageSince = async (reads: Reads, tenant_id: string, day: string): Promise<Usage> =>
  (await reads.rows(tenantUsage, { tenant_id, day }))[0]!;

const sessionsByStatus = defineQuery((db, { tenant_id, from }: { tenant_id: string; from: string }) =>
  db
    .selectFrom('sessions.sessions as session')
    .select(({ fn, cast }) => ['session.status', cast<number>(fn.countAll(), 'integer').as('count')])
    .where('session.tenant_id', '=', tenant_id)
    .where('session.created_at', '>=', from)
    .groupBy('session.status'),
);

/**
 * Returns how many sessions of a tenant that started at or after a time have each status. Statuses without any are
 * absent.
 */
export const sessionCountsSince = async (reads: Reads, tenant_id: string, from: string): Promise<Readonly<Record<string, number>>> =>
  Object.fromEntries((await reads.rows(sessionsByStatus, { tenant_id, from })).map(({ status, count }) => [status!, count]));
