import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import { STATE_DESCRIPTION, STATES } from './delivery-states.ts';

/** The fields of a delivery that no row has: its state depends on the broker, and names change without it. */
export const shownFields = {
  state: z.enum(STATES).meta({ description: STATE_DESCRIPTION, examples: ['acknowledged'] }),
  next_attempt_at: Timestamp.nullable().meta({
    description:
      'When the next attempt is due, unless the runner has asked for another time; null if it is due, and unless the state is `retrying`',
    examples: [null],
  }),
  agent_name: z
    .string()
    .nullable()
    .meta({ description: 'The name of the agent; null if it is not known', examples: ['Reviewer'] }),
  integration_label: z
    .string()
    .nullable()
    .meta({ description: 'The label of the integration, or the name of the skill or cron job; null if there is none', examples: ['Code'] }),
};
