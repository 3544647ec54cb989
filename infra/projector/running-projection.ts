import type pg from 'pg';
import type { Logger } from 'pino';
import type { AnyProjection } from '../../projections/projection.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { EventProcessors } from './event-processors.ts';
import { shadowSchemaOf } from './open-projection.ts';
import type { RebuildResult } from './rebuild-result.ts';
import type { RowBudget } from './row-cache.ts';

/**
 * One projection in this process. `standby`: another process writes it. `lost`: its event processor has failed, and the
 * projection has to be opened again.
 */
export type RunningProjection = {
  readonly projection: AnyProjection;
  state: 'standby' | 'opening' | 'reading' | 'lost';
  error: string | null;
  /** This process has not retried the projection's parked events yet. */
  isParkedRetryDue: boolean;
  lastRebuild: RebuildResult | null;
  /** How often in a row its event processor has failed. */
  failures: number;
  /** When it may be opened again, in milliseconds of the monotonic clock. */
  retryAt: number;
};

/** What the projector of this process shares between its tasks. */
export type Projector = {
  readonly log: Log;
  readonly pool: pg.Pool;
  readonly logger: Logger;
  readonly processors: EventProcessors;
  readonly rowBudget: RowBudget;
  readonly projections: readonly RunningProjection[];
};

/** A projection that this process does not write yet. */
export const standbyProjection = (projection: AnyProjection): RunningProjection => ({
  projection,
  state: 'standby',
  error: null,
  isParkedRetryDue: true,
  lastRebuild: null,
  failures: 0,
  retryAt: 0,
});

/** The names of a projection's writers: the live one and that of a rebuild. */
export const writerNamesOf = ({ projection }: RunningProjection): ReadonlySet<string> =>
  new Set([projection.name, shadowSchemaOf(projection.name)]);
