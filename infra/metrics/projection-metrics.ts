import { parseToken } from '../../domain/event.ts';
import type { ProjectionStatus } from '../projector/status.ts';
import type { ProcessMetrics, Reading } from './process-metrics.ts';

const HELP = {
  annals_projection_lag_events: 'Events that the projection has not applied yet (an estimate while it catches up)',
  annals_projection_lag_seconds: 'How many seconds the projection is behind the log',
  annals_projection_events_total: 'Events that the projection has read since this process became its writer',
  annals_projection_position: 'Log position (commit) up to which the projection has applied all events',
  annals_projection_parked: 'Streams with events that could not be applied',
  annals_projection_rebuilding: 'Whether the projection is being rebuilt (1) or not (0)',
  annals_projection_rebuild_lag_events: 'Events that a running rebuild has not applied yet; 0 if none runs',
  annals_projection_rebuilt_timestamp_seconds: 'When this process ended the last rebuild of the projection, in seconds since 1970',
} as const;

const positionOf = (token: string | null): number | null => {
  const position = token === null ? null : parseToken(token);
  return position && Number(position.commit);
};

const readingOf = (status: ProjectionStatus): Reading<keyof typeof HELP> => ({
  labels: { projection: status.name },
  values: {
    annals_projection_lag_events: status.lag_events,
    annals_projection_lag_seconds: status.lag_seconds,
    annals_projection_events_total: status.events,
    annals_projection_position: positionOf(status.position),
    annals_projection_parked: status.parked_streams,
    annals_projection_rebuilding: status.rebuild ? 1 : 0,
    annals_projection_rebuild_lag_events: status.rebuild?.lag_events ?? 0,
    annals_projection_rebuilt_timestamp_seconds: status.rebuilt && Date.parse(status.rebuilt.at) / 1_000,
  },
});

/** Only one process writes a projection, so only one exports its metrics. */
export const addProjectionMetrics = (metrics: ProcessMetrics, statuses: () => readonly ProjectionStatus[]): void =>
  metrics.addGroup({
    help: HELP,
    read: () =>
      statuses()
        .filter(({ writer }) => writer)
        .map(readingOf),
  });
