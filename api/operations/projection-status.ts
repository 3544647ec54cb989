import { z } from 'zod';

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
