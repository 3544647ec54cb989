import pg from 'pg';
import { pino } from 'pino';
import { tokenOf } from '../domain/event.ts';
import type { Log } from '../infra/eventstore/log.ts';
import { createReads, type PostgresReads } from '../infra/postgres/reads.ts';
import { type Projections, startProjections } from '../infra/postgres/worker.ts';
import { memorySink } from '../projections/memory.ts';
import type { AnyProjection } from '../projections/projection.ts';
import { afterwards } from './ending.ts';

export const quiet = pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' });

/** Asks until it holds, or fails with the last answer after some seconds. */
export const until = async <T>(what: string, ask: () => T | Promise<T>, holds: (value: T) => boolean, seconds = 15): Promise<T> => {
  const end = Date.now() + seconds * 1_000;
  for (;;) {
    const value = await ask();
    if (holds(value)) return value;
    if (Date.now() > end) throw new Error(`${what}: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

export const query = async <R extends pg.QueryResultRow>(databaseUrl: string, text: string, values: unknown[] = []): Promise<R[]> => {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query<R>(text, values)).rows;
  } finally {
    await client.end();
  }
};

/** The rows of one table as they stand: every column, by key. */
export const rowsIn = (databaseUrl: string, schema: string, table: string): Promise<Record<string, unknown>[]> =>
  query(databaseUrl, `select to_jsonb(t) as row from "${schema}"."${table}" t order by to_jsonb(t)::text collate "C"`).then((rows) =>
    rows.map(({ row }) => row as Record<string, unknown>),
  );

const instant = (name: string, value: unknown): unknown =>
  name.endsWith('_at') && typeof value === 'string' ? new Date(value).toISOString() : value;

/** Rows as texts in one order, whatever spelling of times and order of columns they came with. */
export const comparable = (rows: readonly Record<string, unknown>[]): string[] =>
  rows
    .map((row) =>
      JSON.stringify(
        Object.entries(row)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, value]) => [name, instant(name, value)]),
      ),
    )
    .sort();

export const checkpoint = async (databaseUrl: string, name: string): Promise<bigint> => {
  const rows = await query<{ at: string }>(databaseUrl, 'select commit_position::text as at from annals.checkpoints where name = $1', [
    name,
  ]).catch(() => []);
  return BigInt(rows[0]?.at ?? -1);
};

/** Waits until a projection has passed the last event there is. */
export const settled = async (reads: PostgresReads, log: Log, name: string): Promise<void> => {
  for await (const { position } of log.readAll({ backwards: true, limit: 1 })) await reads.passed(name, tokenOf(position), 15_000);
};

/** The rows that a single fold of the whole log gives, as `rowsIn` shows them. */
export const foldedRows = async (log: Log, projection: AnyProjection, table: string): Promise<Record<string, unknown>[]> => {
  const sink = memorySink([projection]);
  for await (const event of log.readAll()) sink.feed([event]);
  const { columns, docs, counters = [] } = projection.tables.find(({ name }) => name === table)!;
  const rows = [...sink.rows(projection.name, table).values()].map(({ row, revision, touched, docs: texts }) => ({
    ...Object.fromEntries([...Object.keys(columns), ...counters].map((name) => [name, row[name]])),
    ...Object.fromEntries(Object.keys(docs).map((name, at) => [name, texts[at]])),
    revision,
    touched,
  }));
  return rows;
};

/** Looks at a checkpoint over one connection until stopped, and fails where it ever went back. */
export const watch = async (databaseUrl: string, name: string): Promise<() => Promise<void>> => {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  let over = false;
  const watching = (async () => {
    for (let last = -1n; !over; ) {
      const { rows } = await client
        .query<{ at: string }>('select commit_position::text as at from annals.checkpoints where name = $1', [name])
        .catch(() => ({ rows: [] }));
      const at = BigInt(rows[0]?.at ?? -1);
      if (at < last) throw new Error(`the checkpoint went from ${last} to ${at}`);
      last = at;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  const stop = async (): Promise<void> => {
    over = true;
    await watching.finally(() => client.end());
  };
  watching.catch(() => {});
  afterwards(stop);
  return stop;
};

/** A worker that the test, or its end, closes. */
export const working = async (parts: Parameters<typeof startProjections>[0]): Promise<Projections> => {
  const worker = await startProjections(parts);
  afterwards(worker.close);
  return worker;
};

export type World = { readonly log: Log; readonly databaseUrl: string; readonly reads: PostgresReads; readonly close: () => Promise<void> };

/** A worker and reads over one database, until closed or until the test is over. */
export const world = async (log: Log, databaseUrl: string, projections: readonly AnyProjection[]): Promise<World> => {
  const worker = await startProjections({ log, databaseUrl, projections, logger: quiet });
  const reads = await createReads(databaseUrl, quiet);
  let closing: Promise<void> | undefined;
  const closeBoth = async (): Promise<void> => {
    await reads.close();
    await worker.close();
  };
  const close = (): Promise<void> => {
    closing ??= closeBoth();
    return closing;
  };
  afterwards(close);
  return { log, databaseUrl, reads, close };
};
