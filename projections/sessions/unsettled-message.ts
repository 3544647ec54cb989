import { type Recorded, sortKey } from '../../domain/event.ts';
import type { SessionEvent } from '../../domain/sessions/session.ts';
import { type Change, insert, remove } from '../projection.ts';
import type { Table } from '../table.ts';

/**
 * What persons have done in sessions, until a runner has acknowledged it or the broker has given it up, by its event, which has
 * `event_revision` in the session. `message_id`: the last event for which the relay has published it, whose position has the sort key
 * `place`.
 */
export const unsettledTable = {
  name: 'unsettled_messages',
  key: ['tenant_id', 'event_id'],
  columns: {
    tenant_id: 'text',
    event_id: 'text',
    agent_id: 'text',
    session_id: 'text',
    event_revision: 'integer',
    message_id: 'text',
    place: 'text',
    sent_at: 'timestamptz',
  },
  docs: {},
  indexes: [{ columns: ['tenant_id', 'agent_id', 'place'] }],
} as const satisfies Table;

type Sent = { readonly event_id: string; readonly event_revision: number };

const row = ({ tenant, id, event_id: message_id, position, at, data }: Recorded<SessionEvent>, sent: Sent): Change =>
  insert('unsettled_messages', {
    ...sent,
    tenant_id: tenant,
    agent_id: data.agent_id,
    session_id: id,
    message_id,
    place: sortKey(position),
    sent_at: at,
  });

export const unsettledMessage = (event: Recorded<SessionEvent>): Change =>
  row(event, { event_id: event.event_id, event_revision: event.revision });

/** A message that was settled in the meantime is unsettled until it is settled once more. */
export const repeatedMessage = (event: Recorded<Extract<SessionEvent, { type: 'SessionMessageRepeated' }>>): Change =>
  row(event, { event_id: event.data.repeats, event_revision: event.data.revision });

export const unsettledRemoved = (tenant_id: string, event_id: string): Change => remove('unsettled_messages', { tenant_id, event_id });
