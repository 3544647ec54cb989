import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';
import { defineQuery } from '../query.ts';
import type { Reads } from '../read-model.ts';
import { Held } from './delivery-fields.ts';
import { oldestId, queueArgs, type SelectionArgs, selectDeliveries } from './delivery-selection.ts';
import type { AgentQueues } from './delivery-states.ts';
import { isOfWorkingAgent } from './working-agent.ts';

type QueryReads = Pick<Reads, 'rows'>;

/** Held deliveries that were addressed to one agent, and that wait for the same reason. */
export const HeldDeliveries = Held.omit({ since: true })
  .extend({
    agent_id: idOf('agent', 'The agent to which the deliveries were addressed'),
    count: z.int().meta({ description: 'How many deliveries wait', examples: [3] }),
    until: Timestamp.nullable().meta({
      description: 'When the first of them can continue at the earliest; null if this is not known, as while earlier deliveries wait',
    }),
    since: Timestamp.meta({ description: 'When the oldest of them was received' }),
    example_id: idOf('delivery', 'The oldest of them'),
  })
  .meta({ id: 'HeldDeliveries' });
export type HeldDeliveries = z.output<typeof HeldDeliveries>;

/** The deliveries of a tenant that were addressed to these agents; without `agent_id` and `agent_ids`, all of the tenant. */
export type HeldArgs = {
  readonly tenant_id: string;
  readonly agent_id?: string | undefined;
  readonly agent_ids?: readonly string[] | undefined;
};

const MAX_GROUPS = 200;

const ruleGroups = defineQuery((db, args: HeldArgs) =>
  selectDeliveries(db, args)
    .where('delivery.held_at', 'is not', null)
    .groupBy(['delivery.agent_id', 'delivery.held_reason', 'delivery.held_rule', 'delivery.held_note'])
    .select(({ fn }) => [
      'delivery.agent_id',
      'delivery.held_reason as reason',
      'delivery.held_rule as rule',
      'delivery.held_note as note',
      fn.countAll<string>().as('count'),
      fn.min('delivery.held_until').as('until'),
      fn.min('delivery.received_at').as('since'),
      oldestId('delivery').as('example_id'),
    ])
    .orderBy('since')
    .orderBy('example_id')
    .limit(({ lit }) => lit(MAX_GROUPS)),
);

/** Returns the deliveries that rules hold, in at most 200 groups. */
export const heldByRules = async (reads: QueryReads, args: HeldArgs): Promise<HeldDeliveries[]> =>
  (await reads.rows(ruleGroups, args)).map(({ agent_id, reason, rule, note, count, until, since, example_id }) => ({
    ...{ agent_id: agent_id!, reason: reason!, rule, note, until, since: since!, example_id },
    count: Number(count),
  }));

const budgetGroups = defineQuery((db, args: SelectionArgs) =>
  selectDeliveries(db, args)
    .groupBy(['delivery.agent_id', 'delivery.message_agent_id'])
    .select(({ fn }) => [
      'delivery.agent_id',
      'delivery.message_agent_id',
      fn.countAll<string>().as('count'),
      fn.min('delivery.received_at').as('since'),
      oldestId('delivery').as('example_id'),
    ])
    .orderBy('since')
    .orderBy('example_id')
    .limit(({ lit }) => lit(MAX_GROUPS)),
);

/** Returns the deliveries that wait because the budget of the agent that gets them is used up, in at most 200 groups. */
export const heldBySpentBudgets = async (reads: QueryReads, args: HeldArgs, queues: AgentQueues): Promise<HeldDeliveries[]> => {
  const { spent } = queues;
  if (spent.length === 0) return [];
  const rows = await reads.rows(budgetGroups, { ...args, published: true, idle: true, spent: true, ...queueArgs(queues) });
  return rows.map(({ agent_id, message_agent_id, count, since, example_id }) => ({
    ...{ agent_id: agent_id!, reason: 'budget', rule: null, note: null, since: since!, example_id },
    until: spent.find((one) => one.agent_id === message_agent_id)?.until ?? null,
    count: Number(count),
  }));
};

const ruleCounts = defineQuery((db, _: Readonly<Record<string, never>>) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .where('delivery.held_at', 'is not', null)
    .where(isOfWorkingAgent('agent_id'))
    .groupBy(['delivery.held_reason', 'delivery.held_rule'])
    .select(({ fn }) => [
      'delivery.held_reason as reason',
      'delivery.held_rule as rule',
      fn.countAll<string>().as('count'),
      fn.min('delivery.held_until').as('until'),
    ]),
);

export type HeldCount = { readonly reason: string; readonly rule: string | null; readonly count: number; readonly until: string | null };

/**
 * Counts the deliveries that rules hold, in all tenants, by reason and rule. Deliveries of suspended or closed tenants and deliveries to
 * deleted agents do not count: they do not continue by themselves.
 */
export const heldByRulesOfAllTenants = async (reads: QueryReads): Promise<HeldCount[]> =>
  (await reads.rows(ruleCounts, {})).map(({ reason, rule, count, until }) => ({ reason: reason!, rule, until, count: Number(count) }));
