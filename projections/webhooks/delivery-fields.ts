import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { PreviewField } from '../../domain/webhooks/payload-preview.ts';

/** The preview of a payload. It is read from the log, because no read model contains payloads. */
export const Preview = z
  .array(PreviewField)
  .nullable()
  .default(null)
  .meta({
    description:
      'At most two fields of the payload that tell deliveries apart; empty if there are none. Null if the request does not ask for it with `preview=true`, or if the payload cannot be read',
    examples: [[{ name: 'title', value: 'Found a bug' }]],
  });

/** What a check of a delivery decided. */
export const Guardrail = z.object({
  rule: z.string().meta({ description: 'The name of the check', examples: ['json'] }),
  verdict: z.enum(['pass', 'block', 'redact', 'label', 'hold']).meta({ description: 'What the check decided' }),
  note: z.string().nullable().meta({ description: 'Why' }),
});

export const ReasonNote = z
  .string()
  .nullable()
  .default(null)
  .meta({
    description: 'What was wrong with a rejected delivery, and what its sender can do; null if `reason` says it all',
    examples: ['The content type is "text/plain": send application/json'],
  });

/** Why a delivery waits before it goes on, and until when. */
export const Held = z.object({
  reason: z.string().meta({
    description:
      'The check because of which it waits; `earlier_held`: earlier deliveries of its source wait; `budget`: the hourly budget of the agent is used up',
    examples: ['outside_working_hours'],
  }),
  until: Timestamp.nullable().meta({
    description: 'When it can go on at the earliest; null if this is not known, as for a rate, which allows it as soon as there is room',
  }),
  since: Timestamp.nullable().meta({ description: 'Since when it waits; null if this is not known' }),
});
export type Held = z.output<typeof Held>;

export const Released = z.object({
  at: Timestamp.meta({ description: 'When it was released' }),
  actor: z
    .object({
      kind: z.enum(['user', 'agent', 'system']).meta({ description: 'A user, or the platform' }),
      id: z.string().meta({ description: 'The id of the user, or the part of the platform', examples: ['c1u33xtplpft75v2seh60kvj5'] }),
    })
    .meta({ description: 'Who released it' }),
  reason: z
    .string()
    .nullable()
    .meta({ description: 'Why, as the person said; null if the platform released it', examples: ['The sender is known'] }),
  guardrails: z.array(Guardrail).meta({ description: 'What the checks decided that were made at the release' }),
});
