import type { Pool } from 'pg';
import type { DriftReport } from './drift-check.ts';

/** The result of the last drift check of a projection. It contains no rows, and so no data of tenants. */
export type DriftSample = {
  readonly projection: string;
  readonly at: string;
  readonly sampled: number;
  readonly differing: number;
  /** The first event that a differing row does not reflect, as `<stream>@<revision>`; null if there is none. */
  readonly first_diverging_event: string | null;
};

/** Stores the result of a drift check, unless the stored rows could not be checked. */
export const recordDriftSample = async (db: Pool, { projection, position, checked, drifted }: DriftReport): Promise<void> => {
  if (position === null) return;
  const event = drifted.find((row) => row.event !== null)?.event;
  await db.query(
    `insert into annals.drift_samples (projection, sampled, differing, first_diverging_event) values ($1, $2, $3, $4)
     on conflict (projection) do update set sampled_at = now(), sampled = excluded.sampled, differing = excluded.differing,
       first_diverging_event = excluded.first_diverging_event`,
    [projection, checked, drifted.length, event ? `${event.stream}@${event.revision}` : null],
  );
};

/** Returns the result of the last drift check of each projection that was checked. */
export const driftSamples = async (db: Pool): Promise<DriftSample[]> =>
  (await db.query<DriftSample>('select projection, sampled_at as at, sampled, differing, first_diverging_event from annals.drift_samples'))
    .rows;
