import type { ClientBase, Pool } from 'pg';
import { PLATFORM, type Position, parseToken, type Recorded, streamName } from '../../domain/event.ts';
import { compileProjection } from '../../projections/engine/compiled-projection.ts';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Log } from '../eventstore/event-log.ts';
import { quoteIdentifier } from '../postgres/pool.ts';
import { firstDivergences } from './first-divergence.ts';
import { differingColumns, eventsFor, foldRows, type SampledRow } from './fold-rows.ts';
import { shapeOf } from './schema.ts';
import { storedRowOf } from './table-store.ts';

/**
 * A stored row that differs from the row that the log yields. `event` is the first event that the stored row does not
 * reflect.
 */
export type DriftedRow = {
  readonly projection: string;
  readonly table: string;
  readonly key: Readonly<Record<string, string>>;
  readonly columns: readonly string[];
  readonly stored: Row;
  /** Null if the log yields no row with this key. */
  readonly folded: Row | null;
  readonly event: { readonly stream: string; readonly revision: number; readonly event_id: string; readonly type: string } | null;
};

export type DriftReport = {
  readonly projection: string;
  readonly position: string | null;
  readonly checked: number;
  readonly drifted: readonly DriftedRow[];
};

type Snapshot = { readonly position: Position | null; readonly token: string | null; readonly rows: readonly SampledRow[] };

const MAX_ROWS = 100_000;

const sample = async (db: ClientBase, projection: AnyProjection, rowsPerTable: number | 'all'): Promise<Snapshot> => {
  await db.query('begin isolation level repeatable read read only');
  try {
    await db.query('set local enable_seqscan = on; set local statement_timeout = 0');
    const { rows: checkpoints } = await db.query<{ token: string }>(
      `select commit_position || ':' || prepare_position as token from annals.checkpoints where name = $1 and version = $2 and shape = $3`,
      [projection.name, projection.version, shapeOf(projection)],
    );
    // There is no checkpoint if the stored rows belong to another version of the projection. The code of this version
    // cannot check those rows. Queries use them only until the rows of this version have been rebuilt.
    if (checkpoints.length === 0) return { position: null, token: null, rows: [] };
    const { token } = checkpoints[0]!;
    const rows: SampledRow[] = [];
    for (const table of compileProjection(projection).tables.values()) {
      const limit = rowsPerTable === 'all' ? `limit ${MAX_ROWS}` : `order by random() limit ${Math.floor(rowsPerTable)}`;
      const found = await db.query<Row>(`select * from ${quoteIdentifier(projection.name)}.${quoteIdentifier(table.table.name)} ${limit}`);
      for (const row of found.rows) rows.push({ table, key: table.keyText(row), row: storedRowOf(table, row) });
    }
    const position = token === null ? null : parseToken(token);
    return { position, token: position && token, rows };
  } finally {
    await db.query('rollback').catch(() => {});
  }
};

const ownStreamOf = ({ table: { table }, row: { row } }: SampledRow): string | null =>
  table.stream && typeof row.id === 'string'
    ? streamName(table.stream, table.key.includes('tenant_id') ? (row.tenant_id as string) : PLATFORM, row.id)
    : null;

/**
 * Makes a first check that reads few events. Returns the rows that need a second check from the whole log: those that
 * differ from what their own stream yields, and those without a stream of their own.
 */
const unexplainedRows = async (
  log: Log,
  projection: AnyProjection,
  rows: readonly SampledRow[],
  until: Position,
): Promise<SampledRow[]> => {
  const unexplained: SampledRow[] = [];
  for (const sampled of rows) {
    const stream = ownStreamOf(sampled);
    const rowOf = stream && (await foldRows(projection, log.read(stream), { rows: [sampled], until }));
    if (!rowOf || differingColumns(sampled.table, sampled.row, rowOf(sampled)).length > 0) unexplained.push(sampled);
  }
  return unexplained;
};

const eventOf = (event: Recorded | null | undefined): DriftedRow['event'] =>
  event ? { stream: event.stream, revision: event.revision, event_id: event.event_id, type: event.type } : null;

const driftedRows = async (
  log: Log,
  projection: AnyProjection,
  rows: readonly SampledRow[],
  until: Position,
): Promise<readonly DriftedRow[]> => {
  if (rows.length === 0) return [];
  const rowOf = await foldRows(projection, eventsFor(log, projection), { rows, until });
  const drifted = rows.filter((sampled) => differingColumns(sampled.table, sampled.row, rowOf(sampled)).length > 0);
  if (drifted.length === 0) return [];
  const events = await firstDivergences(log, projection, drifted, until);
  return drifted.map((sampled) => ({
    projection: projection.name,
    table: sampled.table.table.name,
    key: sampled.table.keyOf(sampled.key),
    columns: differingColumns(sampled.table, sampled.row, rowOf(sampled)),
    stored: sampled.row.row,
    folded: rowOf(sampled)?.row ?? null,
    event: eventOf(events.get(sampled)),
  }));
};

/**
 * Computes rows again from the log, up to the projection's checkpoint, and compares them with the stored rows.
 * `rowsPerTable` is the number of rows to sample; 'all' checks up to 100,000 rows per table. Missing rows are not
 * found, because only stored rows are checked. A rebuild finds missing rows.
 */
export const checkDrift = async (log: Log, pool: Pool, projection: AnyProjection, rowsPerTable: number | 'all'): Promise<DriftReport> => {
  const db = await pool.connect();
  const { position, token, rows } = await sample(db, projection, rowsPerTable).finally(() => db.release());
  const report = { projection: projection.name, position: token, checked: rows.length };
  if (!position) return { ...report, drifted: [] };
  const suspects = rowsPerTable === 'all' ? rows : await unexplainedRows(log, projection, rows, position);
  return { ...report, drifted: await driftedRows(log, projection, suspects, position) };
};
