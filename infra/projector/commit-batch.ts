import type { Client } from 'pg';
import { type Position, tokenOf } from '../../domain/event.ts';
import type { Unapplied } from '../../projections/engine/apply-changes.ts';
import type { StoredRow } from '../../projections/engine/compiled-projection.ts';
import type { Key } from '../../projections/projection.ts';
import { arrayText, statement } from '../postgres/pool.ts';
import { inTransaction, type Statement } from '../postgres/transaction.ts';
import type { WriteSet } from './projection-writer.ts';

/** Where projections tell that they moved: `<token> <name> <name> …`. */
export const CHECKPOINT_CHANNEL = 'annals_moved';
const MAX_NOTICE_BYTES = 7_500;

/** Divides by zero where a checkpoint does not stand where it stood: so what is sent behind it fails too, without a word in between. */
const moving = statement(`
  with wanted as (
    select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
      as wanted(name, old_commit, old_prepare, commit_position, prepare_position, at)
  ), moved as (
    update annals.checkpoints held
    set commit_position = wanted.commit_position, prepare_position = wanted.prepare_position, at = coalesce(wanted.at, held.at), moved_at = now()
    from wanted
    where held.name = wanted.name and held.commit_position = wanted.old_commit and held.prepare_position = wanted.old_prepare
    returning 1
  )
  select 1 / (count(*) = $7)::integer from moved`);
const DIVISION_BY_ZERO = '22012';

const parking = statement(`
  insert into annals.parked (projection, stream, revision, event_id, type, first, reason, commit_position, prepare_position, event_at)
  select $1, * from unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::boolean[], $7::text[], $8::bigint[], $9::bigint[], $10::text[])
  on conflict (projection, stream, revision) do update set first = excluded.first, reason = excluded.reason, attempts = parked.attempts + 1`);

/** What is parked again stays, and counts one more attempt. */
const unparking = statement(`
  delete from annals.parked held where projection = $1 and stream = any($2::text[])
    and not exists (select from unnest($3::text[], $4::bigint[]) again(stream, revision) where again.stream = held.stream and again.revision = held.revision)`);
const telling = statement(`select pg_notify('${CHECKPOINT_CHANNEL}', notice) from unnest($1::text[]) as notice`);

/** Another writer has moved one of these checkpoints: whatever this process thinks it holds, it must read again. */
const fenced = (entries: readonly WriteSet[]): Error =>
  Object.assign(new Error(`a checkpoint was moved by another writer: of ${entries.map(({ name }) => name).join(' or ')}`), {
    fenced: true,
  });

export const isFenced = (error: unknown): boolean => error instanceof Error && 'fenced' in error;

const commitOf = (position: Position | null): string => String(position?.commit ?? -1);
const prepareOf = (position: Position | null): string => String(position?.prepare ?? -1);

const move = (entries: readonly WriteSet[]): Statement[] => {
  if (entries.length === 0) return [];
  const columns = [
    entries.map(({ name }) => name),
    entries.map(({ stored }) => commitOf(stored)),
    entries.map(({ stored }) => prepareOf(stored)),
    entries.map(({ to }) => commitOf(to)),
    entries.map(({ to }) => prepareOf(to)),
    entries.map(({ at }) => at),
  ];
  return [{ ...moving, values: [...columns.map(arrayText), String(entries.length)] }];
};

const park = ({ name, unapplied }: WriteSet): Statement[] => {
  if (unapplied.length === 0) return [];
  const column = (read: (one: Unapplied) => unknown): string => arrayText(unapplied.map(read));
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
  return [{ ...parking, values }];
};

const unpark = ({ name, retried, unapplied }: WriteSet): Statement[] => {
  if (!retried) return [];
  const streams = arrayText(unapplied.map(({ event }) => event.stream));
  const revisions = arrayText(unapplied.map(({ event }) => event.revision));
  return [{ ...unparking, values: [name, arrayText(retried), streams, revisions] }];
};

const writeTables = ({ sink, plan, writes, assumed }: WriteSet): Statement[] =>
  [...writes].flatMap(([name, rows]) => {
    const table = sink.tables.get(name)!;
    const { keyOf } = plan.tables.get(name)!;
    const isNew = assumed.get(name);
    const [gone, fresh, whole]: [Key[], StoredRow[], StoredRow[]] = [[], [], []];
    for (const [text, held] of rows) {
      if (!held) gone.push(keyOf(text));
      else if (isNew?.has(text)) fresh.push(held);
      else whole.push(held);
    }
    return [...table.remove(gone), ...table.insert(fresh), ...table.write(whole)];
  });

const notices = (entries: readonly WriteSet[]): string[] => {
  const lines: string[] = [];
  for (const [token, moved] of Map.groupBy(entries, ({ to }) => tokenOf(to))) {
    let line = token;
    for (const { name } of moved) {
      if (line.length + name.length > MAX_NOTICE_BYTES) {
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
 * Writes the batch of several projections in one transaction: checkpoints first (guarded by where they stood), rows, parked events,
 * and the notice that they moved. `quiet` moved too, but have nothing to write, and their checkpoints wait.
 * @throws Error as `isFenced` tells, where another writer was there · the database's own errors
 */
export const commit = (client: Client, entries: readonly WriteSet[], quiet: readonly WriteSet[] = []): Promise<void> =>
  inTransaction(client, [
    ...move(entries),
    ...entries.flatMap((entry) => [...writeTables(entry), ...unpark(entry), ...park(entry)]),
    { ...telling, values: [arrayText(notices([...entries, ...quiet]))] },
  ]).catch((error) => {
    throw error.code === DIVISION_BY_ZERO ? fenced(entries) : error;
  });
