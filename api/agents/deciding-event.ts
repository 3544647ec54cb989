import { z } from 'zod';
import type { EventRef } from '../../domain/event.ts';
import { EventId, Timestamp } from '../../domain/fields.ts';
import { actorNamesOf } from '../../projections/audit/audit-log.queries.ts';
import type { Ctx } from '../http/operation.ts';

/** An event that gave or took access, and who caused it. */
export const DecidingEvent = z.object({
  event_id: EventId,
  type: z.string().meta({ description: 'The type of the event', examples: ['AgentRoleAssigned'] }),
  at: Timestamp.meta({ description: 'When it happened' }),
  actor_name: z
    .string()
    .nullable()
    .meta({
      description: 'The name of who did it; null if it has none, or if the audit log does not have the event yet',
      examples: ['Ada'],
    }),
  actor_email: z
    .string()
    .nullable()
    .meta({ description: 'The e-mail address of this user', examples: ['ada@example.com'] }),
});
export type DecidingEvent = z.output<typeof DecidingEvent>;

/** Returns the function that adds to events who caused them. Each event is read once. */
export const decidingEvents = ({ reads }: Pick<Ctx, 'reads'>) => {
  const names = new Map<string, ReturnType<typeof actorNamesOf>>();
  return async ({ event_id, type, at }: EventRef): Promise<DecidingEvent> => {
    // Access comes from the log, so it is shown without names if the audit log cannot be read.
    const reading = names.get(event_id) ?? actorNamesOf(reads, event_id).catch(() => null);
    names.set(event_id, reading);
    const actor = await reading;
    return { event_id, type, at, actor_name: actor?.name ?? null, actor_email: actor?.email ?? null };
  };
};
