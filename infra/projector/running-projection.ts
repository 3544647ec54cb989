import type pg from 'pg';
import type { Logger } from 'pino';
import type { AnyProjection } from '../../projections/projection.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { ErasedTenants } from './erased-tenants.ts';
import type { EventProcessors } from './event-processors.ts';
import { shadowSchemaOf } from './open-projection.ts';
import type { WriterParts } from './projection-writer.ts';
import type { RebuildResult } from './rebuild-result.ts';

/**
 * The state of one projection in this process. `standby`: this process does not hold the projection's lock. `opening`:
 * this process holds the lock and will open the projection. `reading`: this process writes the projection. `lost`: its
 * event processor has failed, or it could not be opened; this process will open it again.
 */
export type RunningProjection = {
  readonly projection: AnyProjection;
  state: 'standby' | 'opening' | 'reading' | 'lost';
  error: string | null;
  /** Whether this process must still retry the projection's parked events. */
  isParkedRetryDue: boolean;
  lastRebuild: RebuildResult | null;
  /** The number of consecutive failures. It restarts from 0 after 30 seconds without a failure. */
  failures: number;
  /** The earliest time at which a lost projection is opened again (performance.now()). */
  retryAt: number;
};

/** The services and state that the tasks of this process's projector share. */
export type Projector = WriterParts & {
  readonly erased: ErasedTenants;
  readonly log: Log;
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly processors: EventProcessors;
  readonly projections: readonly RunningProjection[];
};

/** Returns the initial state of a projection, which this process does not write yet. */
export const standbyProjection = (projection: AnyProjection): RunningProjection => ({
  projection,
  state: 'standby',
  error: null,
  isParkedRetryDue: true,
  lastRebuild: null,
  failures: 0,
  retryAt: 0,
});

/** Returns the names of the writers that a projection can have: one for the live rows and one for a rebuild. */
export const writerNamesOf = ({ projection }: RunningProjection): ReadonlySet<string> =>
  new Set([projection.name, shadowSchemaOf(projection.name)]);
