import { DatabaseSync } from 'node:sqlite';
import type { SealedEntry } from './spooled-delivery.ts';

/** SQLite result codes: the lowest byte is the kind of the error. */
const SQLITE_FULL = 13;
const [SQLITE_IOERR_FSYNC, SQLITE_IOERR_DIR_FSYNC] = [1_034, 1_290];

const SCHEMA = `
create table if not exists deliveries (
  seq integer primary key autoincrement,
  tenant text not null,
  integration text not null,
  delivery text not null,
  event_id text not null,
  at integer not null,
  kid text not null,
  content blob not null,
  error text,
  unique (tenant, delivery)
) strict`;

const COLUMNS = 'tenant, integration, delivery, event_id as eventId, at, kid, content';

/** The limits of one file. Half an hour of 50 deliveries per second, of 2 KB each, takes a tenth. */
export type SpoolLimits = { readonly rows: number; readonly bytes: number };

/** Leaves out the integrations in `except`. */
export type SpoolPage = SpoolLimits & { readonly except?: readonly string[] };

export type SpoolRow = SealedEntry & { readonly seq: number };

/** The bytes that something of this tenant takes in the file. */
export type SpoolUse = { readonly tenant: string; readonly bytes: number };

/** `known`: it was there before. `full`: refused, because the file, or its tenant's share, has reached a limit. */
export type Insertion = 'stored' | 'known' | 'full';

/**
 * `rows` and `bytes` are waiting, `parked` permanently refused. `oldestAt`: oldest receipt in Unix milliseconds; null if none is waiting.
 */
export type SpoolCounts = { readonly rows: number; readonly bytes: number; readonly parked: number; readonly oldestAt: number | null };

/** Returns whether an error means that the disk is full, or that the file may not become larger. */
export const isSpoolFull = (error: unknown): boolean => ((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_FULL;

/** After a failed flush, the content of the disk is unknown. Add nothing more: the next flush could succeed although this write is lost. */
export const isFlushFailure = (error: unknown): boolean =>
  [SQLITE_IOERR_FSYNC, SQLITE_IOERR_DIR_FSYNC].includes((error as { errcode?: number }).errcode ?? 0);

const OLDEST = 'select at from deliveries where error is null order by seq limit 1';
const COUNTS = `select count(*) filter (where error is null) as rows, count(*) filter (where error is not null) as parked,
  coalesce(sum(length(content)) filter (where error is null), 0) as bytes, (${OLDEST}) as oldestAt from deliveries`;

const countsOf = (database: DatabaseSync): SpoolCounts => ({ ...(database.prepare(COUNTS).get() as SpoolCounts) });

/**
 * Creates a missing file. Each change is durable when the method returns. Blocks the calling thread.
 * @throws Error if the file cannot be opened
 */
export const openSpoolFile = (path: string) => {
  const database = new DatabaseSync(path, { timeout: 2_000 });
  database.exec('pragma journal_mode = wal; pragma synchronous = full');
  database.exec(SCHEMA);
  const insert = database.prepare(
    'insert into deliveries (tenant, integration, delivery, event_id, at, kid, content) values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing',
  );
  const first = database.prepare(
    `select seq, ${COLUMNS} from deliveries
      where error is null and integration not in (select value from json_each(?)) order by seq limit ?`,
  );
  const remove = database.prepare('delete from deliveries where seq = ? returning tenant, length(content) as bytes');
  const park = database.prepare('update deliveries set error = ? where seq = ? returning tenant, length(content) as bytes');
  const oldest = database.prepare(OLDEST);
  const byIntegration = database.prepare('select integration, count(*) as rows from deliveries where error is null group by integration');

  const byTenant = database.prepare(
    'select tenant, count(*) as rows, sum(length(content)) as bytes from deliveries where error is null group by tenant',
  );

  const inTransaction = <T>(work: () => T): T => {
    database.exec('begin immediate');
    try {
      const result = work();
      database.exec('commit');
      return result;
    } catch (error) {
      if (database.isTransaction) database.exec('rollback');
      throw error;
    }
  };

  return {
    /** Adds them in one transaction. Returns for each row whether it is new. @throws Error if adding fails; no row is then added */
    add: (rows: readonly SealedEntry[]): boolean[] =>
      inTransaction(() =>
        rows.map(
          ({ tenant, integration, delivery, eventId, at, kid, content }) =>
            insert.run(tenant, integration, delivery, eventId, at, kid, content).changes === 1,
        ),
      ),
    /** Returns at most `rows` rows with `bytes` bytes in total; a larger first row is returned alone. */
    first: ({ rows, bytes, except = [] }: SpoolPage): SpoolRow[] => {
      const found: SpoolRow[] = [];
      let size = 0;
      for (const row of first.iterate(JSON.stringify(except), rows) as Iterable<unknown> as Iterable<SpoolRow>) {
        size += row.content.length;
        if (found.length > 0 && size > bytes) break;
        found.push(row);
      }
      return found;
    },
    /** Returns the tenants and the sizes of those that existed. */
    remove: (seqs: readonly number[]): SpoolUse[] =>
      inTransaction(() => seqs.flatMap((seq) => (remove.get(seq) as SpoolUse | undefined) ?? [])),
    /** The row stays in the file, but no longer counts as waiting. */
    park: (seq: number, reason: string): SpoolUse => park.get(reason, seq) as SpoolUse,
    unpark: (): void => database.exec('update deliveries set error = null where error is not null'),
    counts: (): SpoolCounts => countsOf(database),
    oldestAt: (): number | null => (oldest.get() as { at: number } | undefined)?.at ?? null,
    rowsByIntegration: (): [string, number][] =>
      (byIntegration.all() as { integration: string; rows: number }[]).map(({ integration, rows }) => [integration, rows]),
    /** Returns how many waiting rows each tenant has, and their size. */
    useByTenant: (): (SpoolUse & { readonly rows: number })[] => byTenant.all() as (SpoolUse & { rows: number })[],
    /** Returns the space of removed rows to the file system. */
    shrink: (): void => database.exec('vacuum; pragma wal_checkpoint(truncate)'),
    close: (): void => database.close(),
  };
};

/** Another process may have the file open. @throws Error if it is not a file of the spool */
export const readSpoolCounts = (path: string): SpoolCounts => {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 2_000 });
  try {
    return countsOf(database);
  } finally {
    database.close();
  }
};
