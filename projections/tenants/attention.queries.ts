import type { z } from 'zod';
import { deliveries, table as deliveryTable } from '../deliveries/delivery.ts';
import type { Stopped } from '../deliveries/delivery-fields.ts';
import { newestId, selectDeliveries } from '../deliveries/delivery-selection.ts';
import { defineQuery } from '../query.ts';
import { byKey, type Reads } from '../read-model.ts';

type QueryReads = Pick<Reads, 'rows'>;

/** The number of groups that one query returns; the largest groups come first. */
const MAX_GROUPS = 20;

/** What is read of a tenant. With `agent_ids`, only what belongs to these agents. */
type OfAgents = { readonly tenant_id: string; readonly agent_ids: readonly string[] | undefined };

type GivenUpArgs = OfAgents & { readonly given_up_from: string };

const deadGroups = defineQuery((db, args: GivenUpArgs) =>
  selectDeliveries(db, args)
    .groupBy(['delivery.agent_id', 'delivery.reason', 'delivery.problem'])
    .select(({ fn, cast }) => [
      'delivery.agent_id',
      'delivery.reason',
      'delivery.problem',
      cast<number>(fn.countAll(), 'integer').as('count'),
      fn.min('delivery.failed_at').as('since'),
      newestId('delivery').as('example_id'),
    ])
    .orderBy('count', 'desc')
    .orderBy('example_id')
    .limit(({ lit }) => lit(MAX_GROUPS)),
);

/** Groups the deliveries that were given up since `given_up_from`, by agent, reason and reported problem. */
export const givenUpSince = (reads: QueryReads, args: GivenUpArgs) => reads.rows(deadGroups, args);

type BlockedArgs = OfAgents & { readonly from: string; readonly before: string; readonly at_least: number };

const blockedGroups = defineQuery((db, { before, at_least, ...args }: BlockedArgs) =>
  db
    .selectFrom(
      selectDeliveries(db, { ...args, outcome: 'blocked' })
        .groupBy(['delivery.agent_id', 'delivery.integration_id', 'delivery.reason'])
        .select(({ fn, cast }) => [
          'delivery.agent_id',
          'delivery.integration_id',
          'delivery.reason',
          cast<number>(fn.countAll().filterWhere('delivery.received_at', '>=', before), 'integer').as('count'),
          cast<number>(fn.countAll().filterWhere('delivery.received_at', '<', before), 'integer').as('earlier'),
          fn.min('delivery.received_at').filterWhere('delivery.received_at', '>=', before).as('since'),
          newestId('delivery').as('example_id'),
        ])
        .as('blocked'),
    )
    .where('blocked.count', '>=', at_least)
    .select(['blocked.agent_id', 'blocked.integration_id', 'blocked.reason', 'blocked.count', 'blocked.earlier', 'blocked.since'])
    .select('blocked.example_id')
    .orderBy('blocked.count', 'desc')
    .orderBy('blocked.example_id')
    .limit(({ lit }) => lit(MAX_GROUPS)),
);

/**
 * Groups the deliveries that were blocked since `before`, by integration and reason, if they are at least `at_least`.
 * `earlier` is how many were blocked from `from` to `before`.
 */
export const blockedSince = (reads: QueryReads, args: BlockedArgs) => reads.rows(blockedGroups, args);

type Why = z.output<typeof Stopped>;

/** Returns why these deliveries were blocked or held at their receipt, by their ids. */
export const stoppedDeliveries = async (reads: Reads, tenant_id: string, ids: readonly string[]): Promise<ReadonlyMap<string, Why>> => {
  const from = { projection: deliveries.name, table: deliveryTable };
  const docs = await Promise.all(ids.map((id) => byKey<{ readonly stopped: Why | null }>(reads, from, { tenant_id, id })));
  return new Map(docs.flatMap((doc, n) => (doc?.stopped ? [[ids[n]!, doc.stopped] as const] : [])));
};

const failingGroups = defineQuery((db, { at_least, ...args }: OfAgents & { readonly at_least: number }) =>
  selectDeliveries(db, args)
    .where('delivery.unsettled', 'is not', null)
    .where('delivery.failed_at', 'is not', null)
    .$if(args.agent_ids !== undefined, (query) =>
      query.where(({ eb, fn, val }) => eb('delivery.message_agent_id', '=', fn.any(val(args.agent_ids!)))),
    )
    .groupBy('delivery.message_agent_id')
    .having(({ fn }) => fn.countAll(), '>=', at_least)
    .select(({ fn, cast }) => [
      'delivery.message_agent_id as agent_id',
      cast<number>(fn.countAll(), 'integer').as('count'),
      fn.min('delivery.failed_at').as('since'),
      newestId('delivery').as('example_id'),
    ])
    .orderBy('count', 'desc')
    .orderBy('example_id')
    .limit(({ lit }) => lit(MAX_GROUPS)),
);

/**
 * Groups the deliveries that have failed at a runner and are tried again, by the agent of this runner, if they are at least
 * `at_least`. With `agent_ids`, both this agent and the one to which the delivery was addressed are among them.
 */
export const failingAgents = (reads: QueryReads, args: OfAgents & { readonly at_least: number }) => reads.rows(failingGroups, args);

type Named = { readonly tenant_id: string; readonly ids: readonly string[] };

const agentNames = defineQuery((db, { tenant_id, ids }: Named) =>
  db
    .selectFrom('agents.agents as agent')
    .where('agent.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val }) => eb('agent.id', '=', fn.any(val(ids))))
    .select(['agent.id', 'agent.name']),
);

const integrationLabels = defineQuery((db, { tenant_id, ids }: Named) =>
  db
    .selectFrom('integrations.integrations as integration')
    .where('integration.tenant_id', '=', tenant_id)
    .where(({ eb, fn, val }) => eb('integration.id', '=', fn.any(val(ids))))
    .select(['integration.id', 'integration.label']),
);

/** Returns the names of these agents and the labels of these integrations of a tenant, by their ids. */
export const namesOf = async (
  reads: QueryReads,
  tenant_id: string,
  { agents, integrations }: { readonly agents: readonly string[]; readonly integrations: readonly string[] },
): Promise<ReadonlyMap<string, string>> => {
  const [named, labelled] = await Promise.all([
    agents.length === 0 ? [] : reads.rows(agentNames, { tenant_id, ids: agents }),
    integrations.length === 0 ? [] : reads.rows(integrationLabels, { tenant_id, ids: integrations }),
  ]);
  return new Map([...named.map(({ id, name }) => [id, name!] as const), ...labelled.map(({ id, label }) => [id, label!] as const)]);
};

/** The maximum number of agents whose budgets are read. */
export const MAX_BUDGETS = 100;

const limited = defineQuery((db, { tenant_id, agent_ids }: OfAgents) =>
  db
    .selectFrom('agents.agents as agent')
    .where('agent.tenant_id', '=', tenant_id)
    .where('agent.hourly_limit_micros', 'is not', null)
    .where('agent.deleted', 'is not', true)
    .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('agent.id', '=', fn.any(val(agent_ids!)))))
    .select(['agent.id', 'agent.name', 'agent.hourly_limit_micros'])
    .orderBy('agent.is_active', 'desc')
    .orderBy('agent.updated_at', 'desc')
    .orderBy('agent.id')
    .limit(({ lit }) => lit(MAX_BUDGETS)),
);

/** Returns the agents that have an hourly limit, at most 100: the active ones first, then those that changed last. */
export const limitedAgents = (reads: QueryReads, args: OfAgents) => reads.rows(limited, args);

const missed = defineQuery((db, { tenant_id, agent_ids, from }: OfAgents & { readonly from: string }) =>
  db
    .selectFrom('cron_jobs.runs as run')
    .innerJoin('cron_jobs.jobs as job', (join) => join.onRef('job.tenant_id', '=', 'run.tenant_id').onRef('job.id', '=', 'run.job_id'))
    .where('run.tenant_id', '=', tenant_id)
    .where('run.due_at', '>=', from)
    .where('run.decision', '=', 'missed')
    .where('job.deleted', 'is not', true)
    .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('job.agent_id', '=', fn.any(val(agent_ids!)))))
    .groupBy(['job.id', 'job.agent_id', 'job.name'])
    .select(({ fn, cast }) => [
      'job.id',
      'job.agent_id',
      'job.name',
      cast<number>(fn.countAll(), 'integer').as('count'),
      fn.min('run.due_at').as('since'),
    ])
    .orderBy('count', 'desc')
    .orderBy('job.id')
    .limit(({ lit }) => lit(MAX_GROUPS)),
);

/** Groups the runs that were due since `from` and missed, by cron job. */
export const missedRuns = (reads: QueryReads, args: OfAgents & { readonly from: string }) => reads.rows(missed, args);

const overlapping = defineQuery((db, { tenant_id, at }: { readonly tenant_id: string; readonly at: string }) =>
  db
    .selectFrom('integrations.integrations as integration')
    .where('integration.tenant_id', '=', tenant_id)
    .where('integration.disconnected', 'is not', true)
    .where('integration.previous_secret_valid_until', '>', at)
    .select(['integration.id', 'integration.label', 'integration.doc', 'integration.previous_secret_valid_until as until'])
    .orderBy('until')
    .orderBy('integration.id')
    .limit(({ lit }) => lit(MAX_GROUPS)),
);

/** Returns the integrations whose previous secret is still accepted at the time `at`, sorted by when it stops being accepted. */
export const overlappingSecrets = (reads: QueryReads, tenant_id: string, at: string) => reads.rows(overlapping, { tenant_id, at });

type SilentArgs = { readonly tenant_id: string; readonly after: string; readonly before: string };

/** From how many deliveries in the week before the last one an integration counts as one that is in use. */
export const USUAL_DELIVERIES = 20;

const silent = defineQuery((db, { tenant_id, after, before }: SilentArgs) =>
  db
    .selectFrom('integrations.integrations as integration')
    .where('integration.tenant_id', '=', tenant_id)
    .where('integration.disconnected', 'is not', true)
    .where('integration.is_paused', '=', false)
    .where('integration.last_delivery_at', '>=', after)
    .where('integration.last_delivery_at', '<', before)
    .where(({ eb, selectFrom, lit, fn }) =>
      eb(
        selectFrom('deliveries.deliveries as delivery')
          .whereRef('delivery.tenant_id', '=', 'integration.tenant_id')
          .whereRef('delivery.integration_id', '=', 'integration.id')
          .where('delivery.outcome', '<>', 'rejected')
          .orderBy('delivery.received_at', 'desc')
          .orderBy('delivery.id', 'desc')
          .select('delivery.received_at')
          .offset(lit(USUAL_DELIVERIES - 1))
          .limit(lit(1)),
        '>=',
        eb('integration.last_delivery_at', '-', fn<string>('make_interval', [lit(0), lit(0), lit(1)])),
      ),
    )
    .select(['integration.id', 'integration.label', 'integration.last_delivery_at as since'])
    .orderBy('since')
    .orderBy('integration.id')
    .limit(({ lit }) => lit(MAX_GROUPS)),
);

/**
 * Returns the integrations whose last delivery was received from `after` to `before`, and that had at least
 * USUAL_DELIVERIES in the week up to it. Calls that were rejected do not count.
 */
export const silentIntegrations = (reads: QueryReads, args: SilentArgs) => reads.rows(silent, args);

type KeyArgs = { readonly tenant_id: string; readonly from: string; readonly to: string };

const expiring = defineQuery((db, { tenant_id, from, to }: KeyArgs) =>
  db
    .selectFrom('apikeys.apikeys as key')
    .where('key.tenant_id', '=', tenant_id)
    .where('key.kind', '=', 'tenant')
    .where('key.expires_at', '>=', from)
    .where('key.expires_at', '<', to)
    .select(['key.id', 'key.name', 'key.expires_at'])
    .orderBy('key.expires_at')
    .orderBy('key.id')
    .limit(({ lit }) => lit(MAX_GROUPS)),
);

/** Returns the API keys of a tenant that expire, or have expired, in this period. */
export const expiringKeys = (reads: QueryReads, args: KeyArgs) => reads.rows(expiring, args);
