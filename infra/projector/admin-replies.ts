import type { ProjectionAdmin } from '../../api/operations/projection-admin.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { projections } from '../../projections/registry.ts';
import type { Table } from '../../projections/table.ts';
import type { Comparison, Difference } from './compare-tables.ts';
import type { DriftedRow, DriftReport } from './drift-check.ts';
import type { ParkedEvent } from './parked-events.ts';
import type { RebuildRequest } from './rebuild-requests.ts';
import { type PublishedStatus, type RebuildProgress, WORKER_SILENT_SECONDS } from './status.ts';
import { createTextMask, type MaskTexts, maskFor } from './text-mask.ts';

export type Rebuild = Awaited<ReturnType<ProjectionAdmin['rebuildOf']>> & object;
type Outcome = { version?: number; promoted?: boolean; comparison?: Comparison | null; events?: number | null } | null;

/** The maximum number of differing rows in the reply about a rebuild. */
const MAX_SHOWN = 20;

const stateOf = (request: RebuildRequest): Rebuild['state'] => {
  const outcome = request.outcome as Outcome;
  if (request.done_at === null) return outcome ? 'ready' : 'running';
  return outcome?.promoted ? 'promoted' : 'aborted';
};

export const statusReply = (status: PublishedStatus) => ({
  name: status.name,
  version: status.version,
  position: status.position,
  head: status.head,
  lag_events: status.lag_events,
  lag_seconds: status.lag_seconds,
  events_per_second: status.rate,
  state: status.silent_seconds > WORKER_SILENT_SECONDS ? 'no_writer' : status.state,
  last_error: status.last_error,
  parked: status.parked_streams,
  writer: status.silent_seconds > WORKER_SILENT_SECONDS ? null : status.writer,
});

const tableOf = (projection: AnyProjection | undefined, name: string): Table | undefined =>
  projection?.tables.find((table) => table.name === name);

const comparisonReply = (comparison: Comparison | null, projection: AnyProjection): Rebuild['comparison'] => {
  const mask = createTextMask();
  const keyOf = ({ table, key }: Difference) => maskFor(tableOf(projection, table), mask)(key) as Difference['key'];
  return (
    comparison && {
      rows: comparison.rows,
      differing: comparison.differing,
      shown: comparison.shown.slice(0, MAX_SHOWN).map((one) => ({ ...one, key: keyOf(one), columns: [...one.columns] })),
    }
  );
};

/**
 * Estimates how many events a rebuild will have processed at its end. The fraction that is done never decreases, and
 * this estimate follows from it. The estimated lag can increase, because it depends on the sizes of the last events.
 */
const totalOf = ({ done, events, lag_events }: RebuildProgress): number =>
  done > 0 ? Math.max(events, Math.round(events / done)) : events + lag_events;

export const sampledDifferences = ({ outcome }: RebuildRequest): readonly Difference[] => (outcome as Outcome)?.comparison?.shown ?? [];

export const rebuildReply = (request: RebuildRequest, projection: AnyProjection, status: PublishedStatus | undefined): Rebuild => {
  const progress = request.done_at === null ? status?.rebuild : null;
  const outcome = request.outcome as Outcome;
  return {
    id: String(request.id),
    projection: projection.name,
    version: outcome?.version ?? projection.version,
    state: stateOf(request),
    events: progress?.events ?? outcome?.events ?? null,
    total: progress ? totalOf(progress) : (outcome?.events ?? null),
    events_per_second: progress ? progress.rate : null,
    eta_seconds: progress ? progress.seconds_left : null,
    comparison: comparisonReply(outcome?.comparison ?? null, projection),
    requested_at: request.asked_at,
    requested_by: request.asked_by,
    ended_at: request.done_at,
    decided_by: request.decided_by,
    reason: request.reason,
  };
};

export const parkedReply = (parked: ParkedEvent) => ({
  id: parked.event_id,
  projection: parked.projection,
  event_id: parked.event_id,
  position: parked.position,
  key: `${parked.stream}@${parked.revision}`,
  error: parked.reason,
  attempts: parked.attempts,
  parked_at: new Date(parked.parked_at).toISOString(),
});

const driftedReply = ({ table, key, columns, stored, folded, event }: DriftedRow, mask: MaskTexts) => ({
  key: { table, ...(mask(key) as DriftedRow['key']) },
  columns: [...columns],
  stored: mask(stored),
  folded: mask(folded),
  first_diverging_event: event ? `${event.stream}@${event.revision}` : null,
});

/** Returns the reply about drift. The texts of tenants are masked. */
export const driftReply = (reports: readonly DriftReport[]) => {
  const mask = createTextMask();
  const replyOf = ({ projection, checked, drifted }: DriftReport) => {
    const found = projections.find(({ name }) => name === projection);
    const differing = drifted.map((row) => driftedReply(row, maskFor(tableOf(found, row.table), mask)));
    return { name: projection, sampled: checked, differing };
  };
  return { at: new Date().toISOString(), projections: reports.map(replyOf) };
};
