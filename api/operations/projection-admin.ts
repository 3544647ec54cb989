import { z } from 'zod';
import { recordPromotion, recordRetry } from '../../commands/operations/projection-maintenance.ts';
import { notFound } from '../../domain/refusal.ts';
import { type Operations, operation } from '../http/operation.ts';

export const ProjectionStatus = z
  .object({
    name: z.string(),
    version: z.int(),
    position: z.string().nullable(),
    head: z.string().nullable(),
    lag_events: z.int(),
    lag_seconds: z.number(),
    events_per_second: z.number(),
    state: z.string(),
    last_error: z.string().nullable(),
    parked: z.int(),
    writer: z.string().nullable(),
  })
  .meta({ id: 'ProjectionStatus' });

const Difference = z.object({
  table: z.string(),
  key: z.record(z.string(), z.unknown()),
  only: z.enum(['old', 'new']).nullable(),
  columns: z.array(z.string()),
  touched: z.string(),
});

export const Rebuild = z
  .object({
    id: z.string(),
    projection: z.string(),
    version: z.int(),
    state: z.enum(['running', 'ready', 'promoted', 'aborted', 'failed']),
    events: z.int().nullable(),
    total: z.int().nullable(),
    events_per_second: z.number().nullable(),
    eta_seconds: z.number().nullable(),
    comparison: z.object({ rows: z.int(), differing: z.int(), shown: z.array(Difference) }).nullable(),
  })
  .meta({ id: 'Rebuild' });

export const ParkedEvent = z
  .object({
    id: z.string(),
    projection: z.string(),
    event_id: z.string(),
    position: z.string(),
    key: z.string(),
    error: z.string(),
    attempts: z.int(),
    parked_at: z.string(),
  })
  .meta({ id: 'ParkedEvent' });

export const DriftReport = z
  .object({
    at: z.string(),
    projections: z.array(
      z.object({
        name: z.string(),
        sampled: z.int(),
        differing: z.array(
          z.object({
            key: z.unknown(),
            columns: z.array(z.string()),
            stored: z.unknown(),
            folded: z.unknown(),
            first_diverging_event: z.string().nullable(),
          }),
        ),
      }),
    ),
  })
  .meta({ id: 'DriftReport' });

/** What operators see and do; the engine's side of it. Nulls: there is no such projection, rebuild or event. */
export type ProjectionAdmin = {
  readonly statuses: () => Promise<z.output<typeof ProjectionStatus>[]>;
  /** Begins to build a projection anew, or finds that it is being built. */
  readonly rebuild: (name: string) => Promise<z.output<typeof Rebuild> | null>;
  readonly rebuildOf: (name: string, id: string) => Promise<z.output<typeof Rebuild> | null>;
  readonly promote: (name: string, id: string) => Promise<z.output<typeof Rebuild> | null>;
  readonly abort: (name: string, id: string) => Promise<z.output<typeof Rebuild> | null>;
  readonly parked: (name: string) => Promise<z.output<typeof ParkedEvent>[] | null>;
  readonly retry: (name: string, id: string) => Promise<z.output<typeof ParkedEvent> | null>;
  readonly drift: () => Promise<z.output<typeof DriftReport>>;
};

const PROJECTION = '/admin/projections/:name';
const REBUILD = `${PROJECTION}/rebuilds/:rebuild`;
const common = { permit: 'platform', noETag: true } as const;

const assertFound = <T>(found: T | null): T => {
  if (found === null) throw notFound();
  return found;
};

const documentOf = (value: unknown) => ({ doc: JSON.stringify(value), revision: null });

const resultOf = (state: unknown) => ({ id: '', revision: -1, position: null, state });

/** How the projections stand, and what operators do with them. */
export const projectionAdminOperations = (operators: ProjectionAdmin): Operations => ({
  listProjections: operation({
    ...common,
    method: 'get',
    path: '/admin/projections',
    summary: 'How each projection stands',
    reply: z.array(ProjectionStatus),
    run: async () => documentOf(await operators.statuses()),
  }),
  rebuildProjection: operation({
    ...common,
    method: 'post',
    path: `${PROJECTION}/rebuild`,
    summary: 'Build a projection anew beside the live one; it waits, compared, to be promoted',
    reply: Rebuild,
    status: 202,
    location: REBUILD.replace(':rebuild', ':id'),
    run: async (ctx, { name }) => resultOf(assertFound(await ctx.sideEffect(() => operators.rebuild(name)))),
  }),
  readRebuild: operation({
    ...common,
    method: 'get',
    path: REBUILD,
    summary: 'How far a rebuild is, and what differed',
    reply: Rebuild,
    run: async (_, { name, rebuild }) => documentOf(assertFound(await operators.rebuildOf(name, rebuild))),
  }),
  promoteRebuild: operation({
    ...common,
    method: 'post',
    path: `${REBUILD}/promote`,
    summary: 'Put what was built anew in the place of the live projection, in one transaction',
    reply: Rebuild,
    run: async (ctx, { name, rebuild }) => recordPromotion(ctx, assertFound(await ctx.sideEffect(() => operators.promote(name, rebuild)))),
  }),
  abortRebuild: operation({
    ...common,
    method: 'post',
    path: `${REBUILD}/abort`,
    summary: 'Give a rebuild up; the live projection was never touched',
    reply: Rebuild,
    run: async (ctx, { name, rebuild }) => resultOf(assertFound(await ctx.sideEffect(() => operators.abort(name, rebuild)))),
  }),
  listParkedEvents: operation({
    ...common,
    method: 'get',
    path: `${PROJECTION}/parked`,
    summary: 'The events that could not be applied, and what waits behind them',
    reply: z.array(ParkedEvent),
    run: async (_, { name }) => documentOf(assertFound(await operators.parked(name))),
  }),
  retryParkedEvent: operation({
    ...common,
    method: 'post',
    path: `${PROJECTION}/parked/:event/retry`,
    summary: 'Try a parked event and those behind it again',
    reply: ParkedEvent,
    run: async (ctx, { name, event }) => recordRetry(ctx, assertFound(await ctx.sideEffect(() => operators.retry(name, event)))),
  }),
  readDrift: operation({
    ...common,
    method: 'get',
    path: '/admin/drift',
    summary: 'Rows at random, folded again from the log and compared',
    reply: DriftReport,
    run: async () => documentOf(await operators.drift()),
  }),
});
