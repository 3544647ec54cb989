import { sql } from 'kysely';
import { defineList, defineQuery } from '../query.ts';
import type { Doc, Page, PageWindow, Reads, Source } from '../read-model.ts';
import { sortFields } from '../table.ts';
import { type SelectedDeliveries, type SelectionArgs, selectDeliveries, selectionArgs } from './delivery-selection.ts';
import { JobListItem, replays, table } from './replay-job.ts';

const from: Source<typeof table> = { projection: replays.name, table };

/** Finds one job; null if it does not exist. */
export const jobById = async (reads: Reads, tenant_id: string, id: string): Promise<Doc | null> => reads.one(from, { tenant_id, id });

export const JOB_SORTS = sortFields(table, JobListItem);

/** Selects jobs of a tenant. With `agent_ids`, only imports into the memories of these agents. */
type JobListArgs = {
  readonly tenant_id: string;
  readonly kind?: string | undefined;
  readonly status?: string | undefined;
  readonly agent_ids?: readonly string[] | undefined;
};

const jobList = defineList({ table, doc: 'listed' }, (db, { tenant_id, kind, status, agent_ids }: JobListArgs) =>
  db
    .selectFrom('replays.jobs as job')
    .where('job.tenant_id', '=', tenant_id)
    .$if(kind !== undefined, (query) => query.where('job.kind', '=', kind!))
    .$if(status !== undefined, (query) => query.where('job.status', '=', status!))
    .$if(agent_ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('job.agent_id', '=', fn.any(val(agent_ids!))))),
);

export const jobPage = (reads: Reads, args: JobListArgs, window: PageWindow): Promise<Page> => reads.page(jobList, args, window);

/** The maximum number of jobs that `runningJobs` returns. */
const MAX_RUNNING = 50;

const running = defineQuery((db, { at }: { at: string }) =>
  db
    .selectFrom('replays.jobs as job')
    .select(['job.tenant_id', 'job.id'])
    .where('job.running_since', '<=', at)
    .orderBy('job.running_since')
    .orderBy('job.id')
    .limit(({ lit }) => lit(MAX_RUNNING)),
);

export type JobRef = { readonly tenant_id: string; readonly id: string };

/** Returns the jobs that are running at the time `at`, the oldest first. */
export const runningJobs = (reads: Pick<Reads, 'rows'>, at: string): Promise<JobRef[]> => reads.rows(running, { at });

type Selected = {
  readonly tenant_id: string;
  readonly integration_id: string;
  readonly from: string;
  readonly to: string;
  readonly outcome: string | undefined;
  readonly event: string | undefined;
  readonly ids: readonly string[] | undefined;
  readonly limit: number;
};

/** A condition: the delivery is not held, and was not given up after it was held too long. */
const isNotHeld = sql<boolean>`(delivery.held_at is null and delivery.reason is distinct from 'held_too_long')`;

const replayable = defineQuery((db, { tenant_id, integration_id, from, to, outcome, event, ids, limit }: Selected) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .select('delivery.id')
    .where('delivery.tenant_id', '=', tenant_id)
    .where('delivery.integration_id', '=', integration_id)
    .where('delivery.received_at', '>=', from)
    .where('delivery.received_at', '<', to)
    .where(isNotHeld)
    .$if(outcome === undefined, (query) => query.where('delivery.outcome', 'in', ['accepted', 'dead']))
    .$if(outcome !== undefined, (query) => query.where('delivery.outcome', '=', outcome!))
    .$if(event !== undefined, (query) => query.where('delivery.event', '=', event!))
    .$if(ids !== undefined, (query) => query.where(({ eb, fn, val }) => eb('delivery.id', '=', fn.any(val(ids!)))))
    .orderBy('delivery.received_at')
    .orderBy('delivery.id')
    .limit(limit),
);

/**
 * Returns the ids of the selected deliveries that can be sent to a runner, in the order of their receipt, at most
 * `limit`.
 */
export const replayableIds = async (reads: Reads, selected: Selected): Promise<string[]> =>
  (await reads.rows(replayable, selected)).map(({ id }) => id);

const replayableOfTenant = defineQuery((db, { limit, ...args }: SelectionArgs & { readonly limit: number }) =>
  selectDeliveries(db, args)
    .$if(args.outcome === undefined, (query) => query.where('delivery.outcome', 'in', ['accepted', 'dead']))
    .where(isNotHeld)
    .select('delivery.id')
    .orderBy('delivery.received_at')
    .orderBy('delivery.id')
    .limit(limit),
);

/**
 * Returns the ids of at most `limit` deliveries of a tenant that match the filters and can be sent to a runner or, with
 * the outcome `blocked`, released. They are in the order of their receipt.
 */
export const replayableOfTenantIds = async (reads: Reads, selected: SelectedDeliveries, limit: number): Promise<string[]> =>
  (await reads.rows(replayableOfTenant, { ...selectionArgs(selected), limit })).map(({ id }) => id);

type Named = { readonly tenant_id: string; readonly integration_id: string; readonly ids: readonly string[] };

const named = defineQuery((db, { tenant_id, integration_id, ids }: Named) =>
  db
    .selectFrom('deliveries.deliveries as delivery')
    .select('delivery.id')
    .where('delivery.tenant_id', '=', tenant_id)
    .where('delivery.integration_id', '=', integration_id)
    .where(({ eb, fn, val }) => eb('delivery.id', '=', fn.any(val(ids)))),
);

/** Returns those of the given ids that belong to deliveries to the integration. */
export const knownDeliveries = async (reads: Reads, wanted: Named): Promise<ReadonlySet<string>> =>
  new Set((await reads.rows(named, wanted)).map(({ id }) => id));
