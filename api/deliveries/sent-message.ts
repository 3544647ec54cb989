import { z } from 'zod';
import { idOf } from '../../domain/id.ts';

/** The fields of the answer to a request that sends a delivery to the runner of an agent. */
export const SentMessage = z.object({
  id: idOf('delivery'),
  message_id: z.uuid().meta({
    description: 'The id of the message, which the runner gets as `id` (ANNALS_EVENT_ID)',
    examples: ['6f9619ff-8b86-4d01-b42d-00cf4fc964ff'],
  }),
  agent_id: idOf('agent', 'The agent that gets the delivery'),
});
