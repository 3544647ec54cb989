import { z } from 'zod';
import { EventId, Timestamp } from '../../domain/fields.ts';

export const ProjectionStatus = z
  .object({
    name: z.string().meta({ examples: ['agents'] }),
    version: z.int().meta({ description: 'The version of its tables', examples: [3] }),
    position: z
      .string()
      .nullable()
      .meta({ description: 'Up to which position it has applied the log', examples: ['48211:48211'] }),
    head: z
      .string()
      .nullable()
      .meta({ description: 'The position of the last event in the log', examples: ['48211:48211'] }),
    lag_events: z.int().meta({ description: 'How many events it has not applied yet' }),
    lag_seconds: z.number().meta({ description: 'For how many seconds the oldest of them has waited' }),
    events_per_second: z.number().meta({ description: 'How many events it applies per second' }),
    state: z.string().meta({ description: 'What it does', examples: ['live'] }),
    last_error: z
      .string()
      .nullable()
      .meta({ description: 'The error that stopped it last', examples: [null] }),
    parked: z.int().meta({ description: 'How many events it could not apply' }),
    writer: z
      .string()
      .nullable()
      .meta({ description: 'The process that writes it', examples: ['host-1:4711'] }),
    drift: z
      .object({
        at: Timestamp.meta({ description: 'When the rows were compared' }),
        sampled: z.int().meta({ description: 'How many rows were compared' }),
        differing: z.int().meta({ description: 'How many of them differed from what the log yields' }),
        first_diverging_event: z
          .string()
          .nullable()
          .meta({ description: 'The first event that such a row did not reflect; null if none differed', examples: [null] }),
      })
      .nullable()
      .meta({ description: 'The result of the last comparison with the log; null if there was none', examples: [null] }),
  })
  .meta({ id: 'ProjectionStatus' });

const Difference = z.object({
  table: z.string().meta({ description: 'The name of the table', examples: ['agents'] }),
  key: z.record(z.string(), z.unknown()).meta({ description: 'The key of the row', examples: [{ id: 'czdoc9is0j8ht9lgmxg9edn58' }] }),
  only: z.enum(['old', 'new']).nullable().meta({ description: 'Whether the row exists only in the old or only in the new table' }),
  columns: z.array(z.string()).meta({ description: 'The columns that differ', examples: [['updated_at']] }),
  touched: z.string().meta({ description: 'The event that last changed the row', examples: ['0197a3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d'] }),
});

const OperatorRead = z.object({
  kind: z.enum(['user', 'agent', 'system']).meta({ description: 'What kind of actor this is' }),
  id: z
    .string()
    .meta({ description: 'The id of the user, or the name of the part of the platform', examples: ['cagb8wd2opnlj1oqbntoemz4x'] }),
  name: z
    .string()
    .nullable()
    .meta({ description: 'The name at that time; null if there is none', examples: ['Ada'] }),
});

export const Rebuild = z
  .object({
    id: z.string().meta({ description: 'The id of the rebuild', examples: ['0197a3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d'] }),
    projection: z.string().meta({ description: 'The name of the projection', examples: ['agents'] }),
    version: z.int().meta({ description: 'The version of its tables', examples: [3] }),
    state: z
      .enum(['running', 'ready', 'promoted', 'aborted', 'failed'])
      .meta({ description: 'A rebuild that is `ready` waits to be promoted' }),
    events: z.int().nullable().meta({ description: 'How many events it has applied' }),
    total: z.int().nullable().meta({ description: 'How many events it has to apply' }),
    events_per_second: z.number().nullable().meta({ description: 'How many events it applies per second' }),
    eta_seconds: z.number().nullable().meta({ description: 'In how many seconds it will be ready' }),
    comparison: z
      .object({
        rows: z.int().meta({ description: 'How many rows were compared' }),
        differing: z.int().meta({ description: 'How many of them differ' }),
        shown: z.array(Difference).meta({ description: 'The first of those that differ' }),
      })
      .nullable()
      .meta({ description: 'How its rows differ from the live ones; null until it is ready', examples: [null] }),
    requested_at: Timestamp.meta({ description: 'When it was requested' }),
    requested_by: OperatorRead.nullable().meta({ description: 'Who requested it; null if that is not known' }),
    ended_at: Timestamp.nullable().meta({ description: 'When it was promoted or aborted; null before', examples: [null] }),
    decided_by: OperatorRead.nullable().meta({
      description: 'Who decided to promote or to abort it; null if nobody has',
      examples: [null],
    }),
    reason: z
      .string()
      .nullable()
      .meta({ description: 'Why it was promoted; null if no reason was given', examples: [null] }),
  })
  .meta({ id: 'Rebuild' });

const MASKED = 'Texts of tenants are shown as their length and a mark that is equal for equal texts.';

const Excerpt = z.string().nullable();

export const RowDifference = z
  .object({
    table: z.string().meta({ description: 'The name of the table', examples: ['agents'] }),
    key: z.record(z.string(), z.unknown()).meta({ description: 'The key of the row', examples: [{ id: 'czdoc9is0j8ht9lgmxg9edn58' }] }),
    column: z
      .string()
      .nullable()
      .meta({
        description: 'The column that differs; null if only one side has the row, which is then shown as a whole',
        examples: ['name'],
      }),
    live: Excerpt.meta({
      description: `The live value as text, at most 200 characters of it. ${MASKED}`,
      examples: ['[8 characters, 3fa9c1]'],
    }),
    rebuilt: Excerpt.meta({ description: 'The rebuilt value in the same form', examples: ['[6 characters, 07b2de]'] }),
    last_event_id: z
      .string()
      .nullable()
      .meta({
        description: 'The event that last changed the row; null if it is no longer in the log',
        examples: ['0197a3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d'],
      }),
  })
  .meta({ id: 'RowDifference' });

export const ParkedEvent = z
  .object({
    id: z.string().meta({ description: 'The id of the parked event', examples: ['0197a3c4-5e6f-7a8b-9c0d-1e2f3a4b5c6d'] }),
    projection: z.string().meta({ description: 'The projection that could not apply it', examples: ['agents'] }),
    event_id: EventId,
    position: z.string().meta({ description: 'The position of the event in the log', examples: ['48211:48211'] }),
    key: z.string().meta({
      description: 'The stream of the event; later events of the stream are parked, too',
      examples: ['agent-czdoc9is0j8ht9lgmxg9edn58'],
    }),
    error: z.string().meta({ description: 'Why it could not be applied', examples: ['null value in column "name"'] }),
    attempts: z.int().meta({ description: 'How often it was tried' }),
    parked_at: Timestamp.meta({ description: 'When it was parked' }),
  })
  .meta({ id: 'ParkedEvent' });

export const DriftReport = z
  .object({
    at: Timestamp.meta({ description: 'When the rows were compared' }),
    projections: z
      .array(
        z.object({
          name: z.string().meta({ examples: ['agents'] }),
          sampled: z.int().meta({ description: 'How many rows were compared' }),
          differing: z
            .array(
              z.object({
                key: z.unknown().meta({ description: 'The key of the row' }),
                columns: z.array(z.string()).meta({ description: 'The columns that differ' }),
                stored: z.unknown().meta({ description: `The row as it is stored. ${MASKED}` }),
                folded: z.unknown().meta({ description: 'The row as the log yields it' }),
                first_diverging_event: z.string().nullable().meta({ description: 'The first event after which they differ' }),
              }),
            )
            .meta({ description: 'The rows that differ from what the log yields', examples: [[]] }),
        }),
      )
      .meta({ description: 'The projections' }),
  })
  .meta({ id: 'DriftReport' });
