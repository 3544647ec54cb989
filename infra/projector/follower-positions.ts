import type pg from 'pg';
import { comparePositions, type Position, parseToken } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';

/** Stores up to which log position a reactor has handled all events. The methods throw LogError, errors of the database. */
export type FollowerPositions = {
  /** Returns the stored position; undefined (the start of the log) if there is none. */
  readonly read: (reactor: string) => Promise<Position | undefined>;
  /** Stores a position, unless a later one is stored. */
  readonly write: (reactor: string, position: Position) => Promise<void>;
};

const SQL = {
  read: `select commit_position || ':' || prepare_position as token from annals.followers where name = $1`,
  write: `insert into annals.followers as stored (name, commit_position, prepare_position) values ($1, $2, $3)
    on conflict (name) do update set commit_position = excluded.commit_position, prepare_position = excluded.prepare_position
    where stored.commit_position < excluded.commit_position`,
  remove: 'delete from annals.followers where name = $1',
};

/**
 * Creates the store of positions in the database. The worker creates its table. A position beyond the end of the log
 * belongs to a later state of the log, before a backup was restored: it is removed.
 */
export const followerPositions = (log: Log, { query }: Pick<pg.Pool, 'query'>): FollowerPositions => ({
  read: async (reactor) => {
    const { rows } = await query<{ token: string }>(SQL.read, [reactor]);
    const position = rows[0] && parseToken(rows[0].token);
    if (!position) return undefined;
    const [last] = await Array.fromAsync(log.readAll({ backwards: true, limit: 1 }));
    if (last && comparePositions(last.position, position) >= 0) return position;
    await query(SQL.remove, [reactor]);
    return undefined;
  },
  write: async (reactor, { commit, prepare }) => void (await query(SQL.write, [reactor, String(commit), String(prepare)])),
});
