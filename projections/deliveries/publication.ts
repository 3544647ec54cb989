import { parseToken, type Recorded, sortKey } from '../../domain/event.ts';
import type { PublicationEvent } from '../../domain/runners/publication.ts';
import { type Change, insert } from '../projection.ts';
import type { Table } from '../table.ts';

/**
 * The messages that are published, with one row for each record of the relay. A message is published if the position of
 * its event is at or before the `place` (a sort key) of some row. `recorded` is the sort key of the position of the
 * record itself.
 */
export const publicationTable = {
  name: 'publications',
  key: ['id'],
  appendOnly: true,
  columns: { id: 'text', place: 'text', recorded: 'text', published_at: 'timestamptz' },
  docs: {},
  indexes: [{ columns: ['place'] }, { columns: ['recorded'] }],
} as const satisfies Table;

export const insertPublication = ({ event_id, position, at, data }: Recorded<PublicationEvent>): Change =>
  insert('publications', { id: event_id, place: sortKey(parseToken(data.through)!), recorded: sortKey(position), published_at: at });
