import { z } from 'zod';
import { EventId, Timestamp } from '../../domain/fields.ts';
import { Id25 } from '../../domain/id.ts';
import { SentencePart } from '../../projections/audit/audit-sentence.ts';

const Change = z.object({
  pointer: z.string().meta({ description: 'A JSON pointer to the field that changed', examples: ['/description'] }),
  from: z.unknown().meta({ description: 'The value before; `***` for a secret', examples: [null] }),
  to: z.unknown().meta({ description: 'The value after; `***` for a secret', examples: ['Reviews pull requests'] }),
});
/** A field that differs between two states of a resource, with its old and its new value. */
export type Change = z.output<typeof Change>;

const ActorRead = z.object({
  kind: z.enum(['user', 'agent', 'system']).meta({ description: 'What kind of actor this is' }),
  id: z
    .string()
    .meta({ description: 'The id of the user or agent, or the name of the part of the platform', examples: ['cagb8wd2opnlj1oqbntoemz4x'] }),
  key_id: z.string().nullish().meta({ description: 'The API key that was used; null if none was' }),
  name: z
    .string()
    .nullable()
    .meta({ description: 'The name at the time; null if it has none, or is not known (yet)', examples: ['Ada'] }),
  email: z
    .string()
    .nullable()
    .meta({ description: 'The e-mail address of a user; null if it is not known (yet)', examples: ['ada@example.com'] }),
});

const HistoryEntry = z
  .object({
    event_id: EventId,
    type: z.string().meta({ description: 'The type of the event', examples: ['AgentUpdated'] }),
    at: Timestamp.meta({ description: 'When it happened' }),
    actor: ActorRead.meta({ description: 'Who did it' }),
    sentence: z
      .array(SentencePart)
      .nullable()
      .meta({
        description:
          'What happened, in parts with references and without ids; null without the permission `tenant:audit:read`, or while the audit log lacks the event',
        examples: [null],
      }),
    cause: z.string().nullable().meta({ description: 'The id of the event that caused this one' }),
    position: z.string().meta({ description: 'The position of the event in the log', examples: ['48211:48211'] }),
    revision: z.int().meta({ description: 'The index of the event in the stream of the resource' }),
    changes: z.array(Change).meta({ description: 'The fields that changed' }),
  })
  .meta({ id: 'HistoryEntry' });
/** An event of a resource, with the fields that it changed. */
export type HistoryEntry = z.output<typeof HistoryEntry>;

export const HistoryEntries = z.array(HistoryEntry);

/** The differences between two states of a resource. */
export const ResourceDiff = z
  .object({
    id: Id25.meta({ description: 'The id of the resource', examples: ['czdoc9is0j8ht9lgmxg9edn58'] }),
    from: z.string().meta({ description: 'The position of the earlier state', examples: ['47110:47110'] }),
    to: z.string().meta({ description: 'The position of the later state', examples: ['48211:48211'] }),
    changes: z.array(Change).meta({ description: 'The fields that differ' }),
  })
  .meta({ id: 'ResourceDiff' });

/** The query parameters of a comparison of two states. */
export const DiffQuery = z.strictObject({
  from: z.string().max(64).meta({ description: 'The earlier time or Consistency-Token' }),
  to: z.string().max(64).optional().meta({ description: 'The later time or Consistency-Token; default: now' }),
});
