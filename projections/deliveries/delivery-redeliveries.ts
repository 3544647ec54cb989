import { z } from 'zod';
import { EventId, Timestamp } from '../../domain/fields.ts';

/** How often a delivery was sent to a runner again, and whether the provider has repeated it with other bytes. */
export const Redeliveries = z.object({
  count: z.int().meta({ description: 'How often it was sent to a runner again on request', examples: [0] }),
  last_at: Timestamp.nullable().meta({ description: 'When that was requested the last time; null if never', examples: [null] }),
  differed: z
    .boolean()
    .meta({ description: 'Whether the provider has sent this delivery id again with another body, which was not processed' }),
});

/** What a stored row has about redeliveries: the event of each request, and whether the provider sent another body. */
export const storedRedeliveries = {
  requeues: z.array(z.object({ event_id: EventId, at: Timestamp })).default([]),
  differed: z.boolean().default(false),
};
type StoredRedeliveries = z.output<z.ZodObject<typeof storedRedeliveries>>;

/** Returns the document of a delivery with its redeliveries in the form of responses. */
export const withRedeliveries = <Doc extends StoredRedeliveries>({ requeues, differed, ...delivery }: Doc) => ({
  ...delivery,
  redeliveries: { count: requeues.length, last_at: requeues.at(-1)?.at ?? null, differed },
});
