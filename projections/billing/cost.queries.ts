import type { UsageRow } from '../../domain/billing/agent-costs.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';

/** The usage of language models by a tenant. The cost is in micro-dollars. */
export type Usage = {
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost_micros: number;
};

const tenantUsage = defineQuery((db, { tenant_id, day }: { tenant_id: string; day: string }) =>
  db
    .selectFrom('costs.days as usage')
    .select(({ fn, cast, lit }) => [
      cast<number>(fn.coalesce(fn.sum('usage.requests'), lit(0)), 'double precision').as('requests'),
      cast<number>(fn.coalesce(fn.sum('usage.prompt_tokens'), lit(0)), 'double precision').as('input_tokens'),
      cast<number>(fn.coalesce(fn.sum('usage.completion_tokens'), lit(0)), 'double precision').as('output_tokens'),
      cast<number>(fn.coalesce(fn.sum('usage.cost_micros'), lit(0)), 'double precision').as('cost_micros'),
    ])
    .where('usage.tenant_id', '=', tenant_id)
    .where('usage.day', '>=', day),
);

/** Returns the usage of language models by a tenant since the start of a day (UTC, YYYY-MM-DD). */
export const usageSince = async (reads: Reads, tenant_id: string, day: string): Promise<Usage> =>
  (await reads.rows(tenantUsage, { tenant_id, day }))[0]!;

/** A range of days (YYYY-MM-DD) or times (RFC 3339). The end is exclusive. */
type Range = { readonly tenant_id: string; readonly from: string; readonly to: string };

const ofDays = defineQuery((db, { tenant_id, from, to }: Range) =>
  db
    .selectFrom('costs.days as usage')
    .select(({ fn, cast }) => [
      'usage.agent_id',
      'usage.model_id',
      'usage.cause_kind',
      'usage.cause_id',
      cast<number>(fn.sum('usage.requests'), 'double precision').as('requests'),
      cast<number>(fn.sum('usage.prompt_tokens'), 'double precision').as('input_tokens'),
      cast<number>(fn.sum('usage.completion_tokens'), 'double precision').as('output_tokens'),
      cast<number>(fn.sum('usage.cost_micros'), 'double precision').as('cost_micros'),
    ])
    .where('usage.tenant_id', '=', tenant_id)
    .where('usage.day', '>=', from)
    .where('usage.day', '<', to)
    .groupBy(['usage.agent_id', 'usage.model_id', 'usage.cause_kind', 'usage.cause_id']),
);

/** Returns the usage of language models in these days (UTC), for each agent, model and cause. */
export const usageOfDays = (reads: Reads, range: Range): Promise<UsageRow[]> => reads.rows(ofDays, range) as Promise<UsageRow[]>;

const ofMessages = defineQuery((db, { tenant_id, from, to }: Range) =>
  db
    .selectFrom('costs.messages as message')
    .select(({ fn, cast }) => [
      'message.agent_id',
      'message.model_id',
      'message.cause_kind',
      'message.cause_id',
      cast<number>(fn.countAll(), 'double precision').as('requests'),
      cast<number>(fn.sum('message.prompt_tokens'), 'double precision').as('input_tokens'),
      cast<number>(fn.sum('message.completion_tokens'), 'double precision').as('output_tokens'),
      cast<number>(fn.sum('message.cost_micros'), 'double precision').as('cost_micros'),
    ])
    .where('message.tenant_id', '=', tenant_id)
    .where('message.at', '>=', from)
    .where('message.at', '<', to)
    .groupBy(['message.agent_id', 'message.model_id', 'message.cause_kind', 'message.cause_id']),
);

/**
 * Returns the same as `usageOfDays`, but for the period between any two times. It reads the usage of each message in
 * the period.
 */
export const usageOfMessages = (reads: Reads, range: Range): Promise<UsageRow[]> => reads.rows(ofMessages, range) as Promise<UsageRow[]>;

const byDay = defineQuery((db, { tenant_id, from, to }: Range) =>
  db
    .selectFrom('costs.days as usage')
    .select(({ fn, cast }) => [
      'usage.agent_id',
      'usage.day',
      cast<number>(fn.sum('usage.cost_micros'), 'double precision').as('cost_micros'),
    ])
    .where('usage.tenant_id', '=', tenant_id)
    .where('usage.day', '>=', from)
    .where('usage.day', '<', to)
    .groupBy(['usage.agent_id', 'usage.day']),
);

/** Returns the cost of each agent of the tenant on each of these days (UTC). Days without usage are absent. */
export const dailyCosts = (reads: Reads, range: Range): Promise<{ agent_id: string; day: string; cost_micros: number }[]> =>
  reads.rows(byDay, range);

const byDayAndUse = defineQuery((db, { tenant_id, from, to }: Range) =>
  db
    .selectFrom('costs.days as usage')
    .select(({ fn, cast }) => [
      'usage.day',
      'usage.model_id',
      cast<number>(fn.sum('usage.requests'), 'double precision').as('requests'),
      cast<number>(fn.sum('usage.prompt_tokens'), 'double precision').as('input_tokens'),
      cast<number>(fn.sum('usage.completion_tokens'), 'double precision').as('output_tokens'),
      cast<number>(fn.sum('usage.cost_micros'), 'double precision').as('cost_micros'),
    ])
    .where('usage.tenant_id', '=', tenant_id)
    .where('usage.day', '>=', from)
    .where('usage.day', '<', to)
    .groupBy(['usage.day', 'usage.model_id']),
);

/**
 * Returns the usage of language models on each of these days (UTC) for each model, added up over all agents and causes.
 */
export const usageByDay = async (reads: Reads, range: Range): Promise<(UsageRow & { day: string })[]> =>
  (await reads.rows(byDayAndUse, range)).map(
    (row) => ({ ...row, agent_id: '', cause_kind: '', cause_id: '' }) as UsageRow & { day: string },
  );

const topAgents = defineQuery((db, { tenant_id, from, to, most }: Range & { readonly most: number }) =>
  db
    .selectFrom('costs.days as usage')
    .where('usage.tenant_id', '=', tenant_id)
    .where('usage.day', '>=', from)
    .where('usage.day', '<', to)
    .groupBy('usage.agent_id')
    .having(({ fn }) => fn.sum('usage.cost_micros'), '>', 0)
    .select(({ fn, cast }) => ['usage.agent_id', cast<number>(fn.sum('usage.cost_micros'), 'double precision').as('cost_micros')])
    .orderBy('cost_micros', 'desc')
    .orderBy('usage.agent_id')
    .limit(most),
);

/** Returns the ids of the `most` agents that have cost the most on these days (UTC), the most expensive first. */
export const costliestAgents = async (reads: Reads, range: Range & { readonly most: number }): Promise<string[]> =>
  (await reads.rows(topAgents, range)).map(({ agent_id }) => agent_id);

const byDayOfAgents = defineQuery((db, { tenant_id, from, to, agent_ids }: Range & { readonly agent_ids: readonly string[] }) =>
  db
    .selectFrom('costs.days as usage')
    .where('usage.tenant_id', '=', tenant_id)
    .where('usage.day', '>=', from)
    .where('usage.day', '<', to)
    .where(({ eb, fn, val }) => eb('usage.agent_id', '=', fn.any(val(agent_ids))))
    .groupBy(['usage.agent_id', 'usage.day'])
    .select(({ fn, cast }) => [
      'usage.agent_id',
      'usage.day',
      cast<number>(fn.sum('usage.cost_micros'), 'double precision').as('cost_micros'),
    ]),
);

/** Returns the same as `dailyCosts`, but only for these agents. */
export const dailyCostsOf = (
  reads: Reads,
  range: Range & { readonly agent_ids: readonly string[] },
): Promise<{ agent_id: string; day: string; cost_micros: number }[]> => reads.rows(byDayOfAgents, range);

const totalsByDay = defineQuery((db, { tenant_id, from, to }: Range) =>
  db
    .selectFrom('costs.days as usage')
    .where('usage.tenant_id', '=', tenant_id)
    .where('usage.day', '>=', from)
    .where('usage.day', '<', to)
    .groupBy('usage.day')
    .select(({ fn, cast }) => ['usage.day', cast<number>(fn.sum('usage.cost_micros'), 'double precision').as('cost_micros')]),
);

/** Returns the cost of all agents of the tenant on each of these days (UTC). Days without usage are absent. */
export const dailyTotals = (reads: Reads, range: Range): Promise<{ day: string; cost_micros: number }[]> => reads.rows(totalsByDay, range);

const firstDay = defineQuery((db, { tenant_id }: { tenant_id: string }) =>
  db.selectFrom('costs.days as usage').select('usage.day').where('usage.tenant_id', '=', tenant_id).orderBy('usage.day').limit(1),
);

/** Returns the first day (UTC) on which the tenant used a language model; undefined if it never did. */
export const firstCostDay = async (reads: Reads, tenant_id: string): Promise<string | undefined> =>
  (await reads.rows(firstDay, { tenant_id }))[0]?.day;
