import { z } from 'zod';
import { recordPromotion, recordRetry } from '../../commands/operations/projection-maintenance.ts';
import { notFound } from '../../domain/refusal.ts';
import { operation } from '../http/operation.ts';
import { DriftReport, ParkedEvent, ProjectionStatus, Rebuild } from './projection-status.ts';

/**
 * The functions for the maintenance of projections; the projector implements them. They return null if there is no such
 * projection, rebuild or event.
 */
export type ProjectionAdmin = {
  readonly statuses: () => Promise<z.output<typeof ProjectionStatus>[]>;
  /** Starts a rebuild of a projection. If a rebuild is already running, returns that rebuild. */
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
    run: async (ctx, { name }) => resultOf(assertFound(await ctx.sideEffect(() => admin.rebuild(name)))),
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
  promoteRebuild: operation({
    ...common,
    method: 'post',
    path: `${REBUILD}/promote`,
    summary: 'Promote a rebuild',
    details: 'Replaces the live projection by the rebuilt one, in one transaction.',
    reply: Rebuild,
    run: async (ctx, { name, rebuild }) => recordPromotion(ctx, assertFound(await ctx.sideEffect(() => admin.promote(name, rebuild)))),
  }),
  abortRebuild: operation({
    ...common,
    method: 'post',
    path: `${REBUILD}/abort`,
    summary: 'Abort a rebuild',
    details: 'The live projection stays as it is.',
    reply: Rebuild,
    run: async (ctx, { name, rebuild }) => resultOf(assertFound(await ctx.sideEffect(() => admin.abort(name, rebuild)))),
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
    details: 'Chooses the rows at random.',
    reply: DriftReport,
    run: async () => documentOf(await admin.drift()),
  }),
});
