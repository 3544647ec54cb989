import { z } from 'zod';
import { PreviewField } from '../../domain/deliveries/payload-preview.ts';
import { Timestamp } from '../../domain/fields.ts';

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

/** The rule that has blocked or held a delivery. */
const RuleFields = {
  rule: z
    .string()
    .nullable()
    .default(null)
    .meta({ description: 'The name of the rule or check that decided this; null if it was none', examples: ['busy'] }),
  note: z
    .string()
    .nullable()
    .default(null)
    .meta({ description: 'What the rule found, such as its limit; null without a rule', examples: ['the limit of 60 in 60 s is reached'] }),
};

/** Why a delivery waits, and until when. */
export const Held = z.object({
  reason: z.string().meta({
    description:
      'The check because of which it waits; `earlier_held`: earlier deliveries of its source wait; `budget`: the hourly budget of the agent is used up',
    examples: ['outside_working_hours'],
  }),
  ...RuleFields,
  until: Timestamp.nullable().meta({
    description: 'When it can continue at the earliest; null if this is not known, as while earlier deliveries wait',
  }),
  since: Timestamp.nullable().meta({ description: 'Since when it waits; null if this is not known' }),
});
export type Held = z.output<typeof Held>;

/** Why a delivery was blocked or held at its receipt. */
export const Stopped = z.object({
  outcome: z.enum(['blocked', 'held']).meta({ description: 'What was decided about the delivery' }),
  reason: z.string().meta({ description: 'The check because of which it was decided', examples: ['rate'] }),
  ...RuleFields,
  since: Timestamp.meta({ description: 'Since when it was blocked or held, which is when it was received' }),
});

/** The end of a delivery that was held too long. */
export const Expired = z.object({
  at: Timestamp.meta({ description: 'When it was given up' }),
  from: Stopped.meta({ description: 'Why it was held, by which rule, and since when' }),
});

/** The release of a blocked or held delivery. */
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
  from: Stopped.meta({ description: 'Why it was blocked or held before, by which rule, and since when' }),
});
