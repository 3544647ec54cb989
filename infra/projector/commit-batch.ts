import type { Client } from 'pg';
import { type Position, tokenOf } from '../../domain/event.ts';
import type { Unapplied } from '../../projections/engine/apply-changes.ts';
import type { StoredRow } from '../../projections/engine/compiled-projection.ts';
import type { Key } from '../../projections/projection.ts';
import { arrayText, preparedStatement } from '../postgres/pool.ts';
import { inTransaction, type Statement } from '../postgres/transaction.ts';
import type { WriteSet } from './projection-writer.ts';

/**
 * The NOTIFY channel on which writers announce new positions. The text of a notification is `<token> <projection>
 * <projection> …`.
 */
export const CHECKPOINT_CHANNEL = 'annals_moved';
const MAX_NOTICE_LENGTH = 7_500;

/**
 * Moves the stored checkpoints of projections to new log positions. If a checkpoint is not at its expected position,
 * the statement divides by zero on purpose. This error rolls back the transaction, including the later statements,
 * which were already sent.
 */
const moveStatement = preparedStatement(`
  with wanted as (
    select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
      as wanted(name, old_commit, old_prepare, commit_position, prepare_position, at)
  ), moved as (
    update annals.checkpoints stored
    set commit_position = wanted.commit_position, prepare_position = wanted.prepare_position, at = coalesce(wanted.at, stored.at), moved_at = now()
    from wanted
    where stored.name = wanted.name and stored.commit_position = wanted.old_commit and stored.prepare_position = wanted.old_prepare
    returning 1
  )
  select 1 / (count(*) = $7)::integer from moved`);
/** The error code of PostgreSQL for a division by zero. */
const DIVISION_BY_ZERO = '22012';

const parkStatement = preparedStatement(`
  insert into annals.parked (projection, stream, revision, event_id, type, first, reason, commit_position, prepare_position, event_at)
  select $1, * from unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::boolean[], $7::text[], $8::bigint[], $9::bigint[], $10::text[])
  on conflict (projection, stream, revision) do update set first = excluded.first, reason = excluded.reason, attempts = parked.attempts + 1`);

/**
 * Deletes the parked events of retried streams, except events that the retry parks again. For those, `parkStatement`
 * counts the attempts.
 */
const unparkStatement = preparedStatement(`
  delete from annals.parked stored where projection = $1 and stream = any($2::text[])
    and not exists (select from unnest($3::text[], $4::bigint[]) parked_again(stream, revision)
      where parked_again.stream = stored.stream and parked_again.revision = stored.revision)`);
const notifyStatement = preparedStatement(`select pg_notify('${CHECKPOINT_CHANNEL}', notice) from unnest($1::text[]) as notice`);

const checkpointConflict = (writeSets: readonly WriteSet[]): Error =>
  Object.assign(new Error(`another process moved the checkpoint of ${writeSets.map(({ name }) => name).join(' or ')}`), {
    isCheckpointConflict: true,
  });

/**
 * Returns whether an error means that another process has moved the checkpoint of a projection. The position and the
 * cached rows in this process can then be outdated.
 */
export const isCheckpointConflict = (error: unknown): boolean => error instanceof Error && 'isCheckpointConflict' in error;

const commitOf = (position: Position | null): string => String(position?.commit ?? -1);
const prepareOf = (position: Position | null): string => String(position?.prepare ?? -1);

const moveCheckpoints = (writeSets: readonly WriteSet[]): Statement[] => {
  if (writeSets.length === 0) return [];
  const columns = [
    writeSets.map(({ name }) => name),
    writeSets.map(({ checkpoint }) => commitOf(checkpoint)),
    writeSets.map(({ checkpoint }) => prepareOf(checkpoint)),
    writeSets.map(({ to }) => commitOf(to)),
    writeSets.map(({ to }) => prepareOf(to)),
    writeSets.map(({ lastEventAt }) => lastEventAt),
  ];
  return [{ ...moveStatement, values: [...columns.map(arrayText), String(writeSets.length)] }];
};

const parkEvents = ({ name, unapplied }: WriteSet): Statement[] => {
  if (unapplied.length === 0) return [];
  const column = (read: (unapplied: Unapplied) => unknown): string => arrayText(unapplied.map(read));
  const values = [
    name,
    column(({ event }) => event.stream),
    column(({ event }) => event.revision),
    column(({ event }) => event.event_id),
    column(({ event }) => event.type.replaceAll('\0', '')),
    column(({ first }) => first),
    column(({ reason }) => reason.toWellFormed().replaceAll('\0', '')),
    column(({ event }) => String(event.position.commit)),
    column(({ event }) => String(event.position.prepare)),
    column(({ event }) => event.at),
  ];
  return [{ ...parkStatement, values }];
};

const unparkEvents = ({ name, retriedStreams, unapplied }: WriteSet): Statement[] => {
  if (!retriedStreams) return [];
  const streams = arrayText(unapplied.map(({ event }) => event.stream));
  const revisions = arrayText(unapplied.map(({ event }) => event.revision));
  return [{ ...unparkStatement, values: [name, arrayText(retriedStreams), streams, revisions] }];
};

const writeRows = ({ store, compiled, writes, assumedAbsent }: WriteSet): Statement[] =>
  [...writes].flatMap(([name, rows]) => {
    const table = store.tables.get(name)!;
    const { keyOf } = compiled.tables.get(name)!;
    const newKeys = assumedAbsent.get(name);
    const [removed, inserted, upserted]: [Key[], StoredRow[], StoredRow[]] = [[], [], []];
    for (const [text, row] of rows) {
      if (!row) removed.push(keyOf(text));
      else if (newKeys?.has(text)) inserted.push(row);
      else upserted.push(row);
    }
    return [...table.remove(removed), ...table.insert(inserted), ...table.upsert(upserted)];
  });

const notificationsOf = (writeSets: readonly WriteSet[]): string[] => {
  const lines: string[] = [];
  for (const [token, moved] of Map.groupBy(writeSets, ({ to }) => tokenOf(to))) {
    let line = token;
    for (const { name } of moved) {
      if (line.length + name.length > MAX_NOTICE_LENGTH) {
        lines.push(line);
        line = token;
      }
      line += ` ${name}`;
    }
    lines.push(line);
  }
  return lines;
};

/**
 * Writes the batches of several projections in one transaction: checkpoints (each only from its expected position),
 * rows, parked events and the notification. The projections in `idle` have nothing to write: their new positions are
 * announced, and their stored checkpoints stay.
 * @throws Error that `isCheckpointConflict` recognises if another process has moved a checkpoint, errors of the
 * database
 */
export const commitBatch = (client: Client, writeSets: readonly WriteSet[], idle: readonly WriteSet[] = []): Promise<void> =>
  inTransaction(client, [
    ...moveCheckpoints(writeSets),
    ...writeSets.flatMap((writeSet) => [...writeRows(writeSet), ...unparkEvents(writeSet), ...parkEvents(writeSet)]),
    { ...notifyStatement, values: [arrayText(notificationsOf([...writeSets, ...idle]))] },
  ]).catch((error) => {
    throw error.code === DIVISION_BY_ZERO ? checkpointConflict(writeSets) : error;
  });
