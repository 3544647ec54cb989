import { z } from 'zod';
import { type Recorded, tokenOf } from '../../domain/event.ts';
import { EventId, Timestamp } from '../../domain/fields.ts';
import { idOf } from '../../domain/id.ts';

/** One step of a delivery, from its provider to the sessions that process it. */
export const Step = z.object({
  event_id: EventId,
  type: z.string().meta({ description: 'The type of the event', examples: ['WebhookAccepted'] }),
  at: Timestamp.meta({ description: 'When it happened' }),
  position: z.string().meta({ description: 'Its position in the log, as a consistency token', examples: ['48211:48211'] }),
  actor: z
    .object({
      kind: z.enum(['user', 'agent', 'system']).meta({ description: 'A user, the runner of an agent, or the platform' }),
      id: z.string().meta({ description: 'The id of the user or agent, or the part of the platform', examples: ['redrive'] }),
    })
    .meta({ description: 'Who caused it. For the delivery itself: the platform, with the id of the integration' }),
  agent_id: idOf('agent', 'The agent that got the delivery, or whose session it is'),
  session_id: idOf('session').nullable().meta({ description: 'The session that was started; null if it is another step' }),
  cause: EventId.nullable().meta({
    description: 'Of a redelivery: the event that led to it. It is the request of a replay, or the first message if the broker had lost it',
    examples: [null],
  }),
});
type Step = z.output<typeof Step>;

/** A step as responses show it. */
export const ShownStep = Step.extend({
  actor: Step.shape.actor
    .extend({
      name: z
        .string()
        .nullable()
        .default(null)
        .meta({ description: 'The name of the user; null for others, and if it is not known', examples: ['Ada Lovelace'] }),
    })
    .meta({ description: 'Who caused it. For the delivery itself: the platform, with the id of the integration' }),
  published_at: Timestamp.nullable()
    .default(null)
    .meta({ description: 'When the message that this step started was published for the runner; null if it was not, or is no message' }),
});

/** The fields that a step of a delivery adds to the event that it shows. */
type StepFields = Pick<Step, 'agent_id'> & Partial<Pick<Step, 'session_id' | 'cause'>>;

export const stepOf = (
  { event_id, type, at, position, actor: { kind, id } }: Recorded,
  { agent_id, session_id = null, cause = null }: StepFields,
): Step => ({
  event_id,
  type,
  at,
  position: tokenOf(position),
  actor: { kind, id },
  agent_id,
  session_id,
  cause,
});

export const Origin = z.object({
  delivery_id: idOf('delivery', 'The delivery that led to this one'),
  depth: z.int().meta({ description: 'How many deliveries led to this one, one after another', examples: [1] }),
});
