import type { Logger } from 'pino';
import { Refusal } from '../../domain/refusal.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import type { Log } from '../eventstore/log.ts';
import { type DriftReport, drift } from './drift.ts';
import { type ParkedEvent, parkedEvents } from './parked.ts';
import { isDown, openPool } from './pool.ts';
import { ask, type RequestKind, type RequestState, requestState } from './requests.ts';
import { type PublishedStatus, publishedStatuses } from './status.ts';

/** What operators may see of the projections and ask of their writers, from any process. @throws Refusal unavailable, not_found */
export type Operator = {
  readonly statuses: () => Promise<PublishedStatus[]>;
  /** Parked events of one projection, or of all. */
  readonly parked: (projection: string | null, limit?: number) => Promise<ParkedEvent[]>;
  /** Asks for a rebuild, its abortion, or another try of parked events (of one stream); gives the request's id. */
  readonly ask: (kind: RequestKind, projection: string, stream?: string) => Promise<number>;
  readonly request: (id: number) => Promise<RequestState | null>;
  /** Samples rows of each table of one projection, or takes all, and folds them again from the log. */
  readonly drift: (projection: string, most: number | 'all') => Promise<DriftReport>;
  readonly close: () => Promise<void>;
};

type Options = { readonly databaseUrl: string; readonly log: Log; readonly projections: readonly AnyProjection[]; readonly logger: Logger };

const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    // The engine's tables are made by the first worker.
    if (isDown(error) || (error as { code?: string }).code === '42P01')
      throw new Refusal('unavailable', 'The read models are out of reach for the moment.', { retryAfter: 5 });
    throw error;
  }
};

/** Opens the operators' view; nothing is connected until the first call. */
export const openOperator = ({ databaseUrl, log, projections, logger }: Options): Operator => {
  const pool = openPool(databaseUrl, logger, 'operator', { max: 2 });
  const known = (name: string): AnyProjection => {
    const found = projections.find((projection) => projection.name === name);
    if (!found) throw new Refusal('not_found', 'There is no such projection.');
    return found;
  };
  return {
    statuses: () => guarded(() => publishedStatuses(pool)),
    parked: (projection, limit) => guarded(() => parkedEvents(pool, projection && known(projection).name, limit)),
    ask: (kind, projection, stream) => guarded(() => ask(pool, kind, known(projection).name, stream ?? null)),
    request: (id) => guarded(() => requestState(pool, id)),
    drift: (projection, most) => guarded(() => drift(log, pool, known(projection), most)),
    close: () => pool.end(),
  };
};
