import { z } from 'zod';
import { type Operator, PromotionReason, recordPromotion, recordRetry } from '../../commands/operations/projection-maintenance.ts';
import * as User from '../../domain/identity/user.ts';
import { invalid, notFound } from '../../domain/refusal.ts';
import { type Ctx, operation } from '../http/operation.ts';
import { DriftReport, ParkedEvent, ProjectionStatus, Rebuild, RowDifference } from './projection-status.ts';

/** A request to promote or abort a rebuild. `by` is the operator. `reason` is null if the operator gave none. */
export type RebuildChoice = { readonly name: string; readonly id: string; readonly by: Operator; readonly reason: string | null };

/**
 * Selects the differing rows of a rebuild that are listed. If `column` is null, differences in all columns are listed.
 */
export type DifferencesOf = { readonly name: string; readonly id: string; readonly column: string | null };

/**
 * The functions for the maintenance of projections, which the projector implements. They return null if there is no
 * such projection, rebuild or event.
 */
export type ProjectionAdmin = {
  readonly statuses: () => Promise<z.output<typeof ProjectionStatus>[]>;
  /** Starts a rebuild of a projection. If a rebuild is already running, returns that one. */
  readonly rebuild: (name: string, by: Operator) => Promise<z.output<typeof Rebuild> | null>;
  /** Returns the last 100 rebuilds of a projection, newest first. */
  readonly rebuilds: (name: string) => Promise<z.output<typeof Rebuild>[] | null>;
  readonly rebuildOf: (name: string, id: string) => Promise<z.output<typeof Rebuild> | null>;
  /** Returns the columns in which the sampled rows of an open rebuild differ from the live rows. */
  readonly differences: (of: DifferencesOf) => Promise<z.output<typeof RowDifference>[] | null>;
  readonly promote: (choice: RebuildChoice) => Promise<z.output<typeof Rebuild> | null>;
  readonly abort: (choice: RebuildChoice) => Promise<z.output<typeof Rebuild> | null>;
  readonly parked: (name: string) => Promise<z.output<typeof ParkedEvent>[] | null>;
  readonly retry: (name: string, id: string) => Promise<z.output<typeof ParkedEvent> | null>;
  /** Compares a sample of rows with the log. If the name is null, the sample contains rows of all projections. */
  readonly drift: (name: string | null) => Promise<z.output<typeof DriftReport> | null>;
};

const PROJECTION = '/admin/projections/:name';
const REBUILD = `${PROJECTION}/rebuilds/:rebuild`;
const DifferencesQuery = z.strictObject({
  column: z.string().max(63).optional().meta({ description: 'Only the differences in this column' }),
});
const DriftQuery = z.strictObject({
  projection: z.string().max(63).optional().meta({ description: 'Only the rows of this projection' }),
});
const common = { permit: 'platform', noETag: true } as const;

const assertFound = <T>(found: T | null): T => {
  if (found === null) throw notFound();
  return found;
};

const documentOf = (value: unknown) => ({ doc: JSON.stringify(value), revision: null });

const resultOf = (state: unknown) => ({ id: '', revision: -1, position: null, state });

const callerOf = async (ctx: Ctx): Promise<Operator> => {
  const { kind, id } = ctx.actor;
  if (kind !== 'user') return { kind, id, name: null };
  const { name, email } = (await ctx.load(User, id)).state;
  return { kind, id, name: name || email || null };
};

const rebuildOperations = (admin: ProjectionAdmin) => ({
  rebuildProjection: operation({
    ...common,
    method: 'post',
    path: `${PROJECTION}/rebuild`,
    summary: 'Rebuild a projection',
    details: 'The rebuild runs beside the live projection. Its result is compared and then waits to be promoted.',
    reply: Rebuild,
    status: 202,
    location: REBUILD.replace(':rebuild', ':id'),
    run: async (ctx, { name }) => resultOf(assertFound(await ctx.sideEffect(async () => admin.rebuild(name, await callerOf(ctx))))),
  }),
  listRebuilds: operation({
    ...common,
    method: 'get',
    path: `${PROJECTION}/rebuilds`,
    summary: 'List the rebuilds of a projection',
    details: 'The last 100, the newest first, with who requested them and who promoted or aborted them.',
    reply: z.array(Rebuild),
    run: async (_, { name }) => documentOf(assertFound(await admin.rebuilds(name))),
  }),
  readRebuild: operation({
    ...common,
    method: 'get',
    path: REBUILD,
    summary: 'Read the progress of a rebuild',
    details: 'When it is ready, it says how its rows differ from the live ones.',
    reply: Rebuild,
    run: async (_, { name, rebuild }) => documentOf(assertFound(await admin.rebuildOf(name, rebuild))),
  }),
  listRowDifferences: operation({
    ...common,
    method: 'get',
    path: `${REBUILD}/differences`,
    summary: 'List the columns in which a rebuild differs',
    details:
      'Shows the present values of at most 20 rows, but not the texts of tenants. The list is empty once the rebuild is promoted or aborted.',
    query: DifferencesQuery,
    reply: z.array(RowDifference),
    run: async (_, { name, rebuild, column = null }) => documentOf(assertFound(await admin.differences({ name, id: rebuild, column }))),
  }),
  promoteRebuild: operation({
    ...common,
    method: 'post',
    path: `${REBUILD}/promote`,
    summary: 'Promote a rebuild',
    details: 'Replaces the live projection by the rebuilt one, in one transaction. If two operators decide, the first decision applies.',
    body: PromotionReason,
    reply: Rebuild,
    run: async (ctx, { name, rebuild, reason = null }) => {
      const promote = async () => admin.promote({ name, id: rebuild, by: await callerOf(ctx), reason });
      return recordPromotion(ctx, assertFound(await ctx.sideEffect(promote)));
    },
  }),
  abortRebuild: operation({
    ...common,
    method: 'post',
    path: `${REBUILD}/abort`,
    summary: 'Abort a rebuild',
    details: 'The live projection stays as it is.',
    reply: Rebuild,
    run: async (ctx, { name, rebuild }) => {
      const abort = async () => admin.abort({ name, id: rebuild, by: await callerOf(ctx), reason: null });
      return resultOf(assertFound(await ctx.sideEffect(abort)));
    },
  }),
});

const parkedEventOperations = (admin: ProjectionAdmin) => ({
  listParkedEvents: operation({
    ...common,
    method: 'get',
    path: `${PROJECTION}/parked`,
    summary: 'List the events that could not be applied',
    details: 'The later events of their streams are listed, too.',
    reply: z.array(ParkedEvent),
    run: async (_, { name }) => documentOf(assertFound(await admin.parked(name))),
  }),
  retryParkedEvent: operation({
    ...common,
    method: 'post',
    path: `${PROJECTION}/parked/:event/retry`,
    summary: 'Retry a parked event',
    details: 'Applies it and the later events of its stream again.',
    reply: ParkedEvent,
    run: async (ctx, { name, event }) => recordRetry(ctx, assertFound(await ctx.sideEffect(() => admin.retry(name, event)))),
  }),
});

/** Creates the operations with which operators monitor and maintain the projections. */
export const projectionAdminOperations = (admin: ProjectionAdmin) => ({
  listProjections: operation({
    ...common,
    method: 'get',
    path: '/admin/projections',
    summary: 'List the projections with their state and lag',
    reply: z.array(ProjectionStatus),
    run: async () => documentOf(await admin.statuses()),
  }),
  ...rebuildOperations(admin),
  ...parkedEventOperations(admin),
  readDrift: operation({
    ...common,
    method: 'get',
    path: '/admin/drift',
    summary: 'Compare stored rows with the log',
    details:
      'Chooses the rows at random. Shows the rows that differ, but not the texts of tenants. The list of projections shows the result of the last comparison.',
    query: DriftQuery,
    reply: DriftReport,
    run: async (_, { projection = null }) => {
      const report = await admin.drift(projection);
      if (report === null) throw invalid('/query/projection', 'must be the name of a projection');
      return documentOf(report);
    },
  }),
});
