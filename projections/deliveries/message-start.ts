import { sql } from 'kysely';

/**
 * When the last message of a delivery was started: by its receipt, its release or a request to send it again. `alias` is that of the
 * table of deliveries.
 */
export const messageStart = (alias: string) => {
  const column = (name: string) => sql.ref(`${alias}.${name}`);
  return sql<string>`coalesce((select (step ->> 'at')::timestamptz from jsonb_array_elements(${column('doc')}::jsonb -> 'causation') as step where step ->> 'event_id' = ${column('message_id')} limit 1), ${column('received_at')})`;
};
