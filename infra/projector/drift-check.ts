import type { ClientBase, Pool } from 'pg';
import { comparePositions, PLATFORM, type Position, parseToken, type Recorded, streamName } from '../../domain/event.ts';
import { type CompiledTable, compileProjection } from '../../projections/engine/compiled-projection.ts';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Log } from '../eventstore/event-log.ts';
import { quoteIdentifier } from '../postgres/pool.ts';
import { firstDivergences } from './first-divergence.ts';
import { differingColumns, eventsFor, type FoldedRow, foldRows, type SampledRow, startFold } from './fold-rows.ts';
import { shapeOf } from './schema.ts';
import { comparedRowOf, withDocFields } from './table-store.ts';

/** A stored row that differs from the row that the log yields. `event` is the first event that the stored row does not reflect. */
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

/** The rows of a table that are not read yet: those whose key is greater than that of the row `after`. */
type Rest = { readonly table: CompiledTable; readonly after: Row };

type Snapshot = {
  readonly position: Position | null;
  readonly token: string | null;
  readonly rows: readonly SampledRow[];
  readonly rest: readonly Rest[];
};

/** Which rows to read: `sampled` random rows of each table; or the first `limit` rows of each table, or of the rest of one. */
type Selection = { readonly sampled: number } | { readonly limit: number; readonly from?: Rest };

/** Rows of a projection that may differ from those that the log yields up to `until`. */
type Suspects = { readonly projection: AnyProjection; readonly rows: readonly SampledRow[]; readonly until: Position };

const MAX_ROWS = 100_000;

const statementFor = (projection: AnyProjection, { table }: CompiledTable, selection: Selection) => {
  const from = `select * from ${quoteIdentifier(projection.name)}.${quoteIdentifier(table.name)}`;
  if ('sampled' in selection) return { text: `${from} order by random() limit ${Math.floor(selection.sampled)}` };
  const key = table.key.map(quoteIdentifier).join();
  const order = `order by ${key} limit ${selection.limit}`;
  if (!selection.from) return { text: `${from} ${order}` };
  const { after } = selection.from;
  const places = table.key.map((_, index) => `$${index + 1}`).join();
  return { text: `${from} where (${key}) > (${places}) ${order}`, values: table.key.map((name) => after[name]) };
};

const sample = async (db: ClientBase, projection: AnyProjection, selection: Selection): Promise<Snapshot> => {
  await db.query('begin isolation level repeatable read read only');
  try {
    await db.query('set local enable_seqscan = on; set local statement_timeout = 0');
    const { rows: checkpoints } = await db.query<{ token: string }>(
      `select commit_position || ':' || prepare_position as token from annals.checkpoints where name = $1 and version = $2 and shape = $3`,
      [projection.name, projection.version, shapeOf(projection)],
    );
    // There is no checkpoint if the stored rows belong to another version of the projection. The code of this version
    // cannot check those rows. Queries use them only until the rows of this version have been rebuilt.
    if (checkpoints.length === 0) return { position: null, token: null, rows: [], rest: [] };
    const { token } = checkpoints[0]!;
    const rows: SampledRow[] = [];
    const rest: Rest[] = [];
    const only = 'limit' in selection && selection.from?.table.table.name;
    for (const table of compileProjection(projection).tables.values()) {
      if (only && table.table.name !== only) continue;
      const found = await db.query<Row>(statementFor(projection, table, selection));
      if ('limit' in selection && found.rows.length === selection.limit) rest.push({ table, after: found.rows.at(-1)! });
      for (const row of found.rows) rows.push({ table, key: table.keyText(row), row: comparedRowOf(table, row) });
    }
    const position = token === null ? null : parseToken(token);
    return { position, token: position && token, rows, rest };
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

/** Returns the rows that differ from their folded row, each with the first event that it does not reflect. */
const driftedRows = async (log: Log, { projection, rows, until }: Suspects, rowOf: FoldedRow): Promise<readonly DriftedRow[]> => {
  const drifted = rows.filter((sampled) => differingColumns(sampled.table, sampled.row, rowOf(sampled)).length > 0);
  if (drifted.length === 0) return [];
  const events = await firstDivergences(log, projection, drifted, until);
  return drifted.map((sampled) => ({
    projection: projection.name,
    table: sampled.table.table.name,
    key: sampled.table.keyOf(sampled.key),
    columns: differingColumns(sampled.table, sampled.row, rowOf(sampled)),
    stored: withDocFields(sampled.row),
    folded: rowOf(sampled)?.row ?? null,
    event: eventOf(events.get(sampled)),
  }));
};

/**
 * Computes rows again from the log, up to the projection's checkpoint, and compares them with the stored rows.
 * `rowsPerTable` is the number of rows to sample. Missing rows are not found, because only stored rows are checked. A
 * rebuild finds missing rows.
 */
export const checkDrift = async (log: Log, pool: Pool, projection: AnyProjection, rowsPerTable: number): Promise<DriftReport> => {
  const db = await pool.connect();
  const { position, token, rows } = await sample(db, projection, { sampled: rowsPerTable }).finally(() => db.release());
  const report = { projection: projection.name, position: token, checked: rows.length };
  if (!position) return { ...report, drifted: [] };
  const suspects = await unexplainedRows(log, projection, rows, position);
  if (suspects.length === 0) return { ...report, drifted: [] };
  const rowOf = await foldRows(projection, eventsFor(log, projection), { rows: suspects, until: position });
  return { ...report, drifted: await driftedRows(log, { projection, rows: suspects, until: position }, rowOf) };
};

/**
 * How far a pass over the log is: the number of events read, which share of the log that is (0 to 1), and how long it
 * has taken. The first pass has the number 1.
 */
export type PassProgress = { readonly pass: number; readonly events: number; readonly share: number; readonly elapsedMs: number };

type ReportPass = (progress: Omit<PassProgress, 'pass'>) => void;

/** Rows to check. `index` is that of their projection in the list of projections. */
type Sampled = Suspects & { readonly index: number };

export type PassOptions = {
  readonly onProgress?: (progress: PassProgress) => void;
  /** The maximum number of rows that are read from a table at once. */
  readonly rowsPerTable?: number;
  /** The maximum number of rows that are folded in one pass over the log; they are kept in memory. */
  readonly rowsPerPass?: number;
};

const EVENTS_PER_REPORT = 1_000;
const MAX_ROWS_PER_PASS = 300_000;

const shareOf = ({ commit }: Position, end: Position): number => (end.commit === 0n ? 1 : Number((commit * 1_000n) / end.commit) / 1_000);

/** Folds the rows of several projections in one pass over the log. */
const foldTogether = async (log: Log, samples: readonly Sampled[], report: ReportPass): Promise<FoldedRow[]> => {
  const end = samples.map(({ until }) => until).reduce((last, until) => (comparePositions(until, last) > 0 ? until : last));
  const folds = samples.map(({ projection, rows, until }) => ({
    handles: compileProjection(projection).handles,
    fold: startFold(projection, { rows, until }),
  }));
  const startedAt = performance.now();
  let events = 0;
  for await (const event of log.readAll()) {
    if (comparePositions(event.position, end) > 0) break;
    for (const { handles, fold } of folds) if (handles(event)) fold.add(event);
    if (++events % EVENTS_PER_REPORT === 0)
      report({ events, share: shareOf(event.position, end), elapsedMs: performance.now() - startedAt });
  }
  return folds.map(({ fold }) => fold.finish());
};

/**
 * Checks all stored rows of several projections. Usually, the log is read once for all of them, and once more for each
 * projection that differs. It is read several times if there are more rows than `rowsPerPass`.
 */
export const checkAllDrift = async (
  log: Log,
  pool: Pool,
  projections: readonly AnyProjection[],
  { onProgress = () => {}, rowsPerTable = MAX_ROWS, rowsPerPass = MAX_ROWS_PER_PASS }: PassOptions = {},
): Promise<DriftReport[]> => {
  const reports = projections.map(({ name }): DriftReport => ({ projection: name, position: null, checked: 0, drifted: [] }));
  let samples: Sampled[] = [];
  let passes = 0;
  const foldSamples = (): Promise<FoldedRow[]> => {
    const pass = ++passes;
    return foldTogether(log, samples, (progress) => onProgress({ pass, ...progress }));
  };
  const check = async (): Promise<void> => {
    const folded = samples.length === 0 ? [] : await foldSamples();
    for (const [at, sampled] of samples.entries()) {
      const report = reports[sampled.index]!;
      reports[sampled.index] = { ...report, drifted: [...report.drifted, ...(await driftedRows(log, sampled, folded[at]!))] };
    }
    samples = [];
  };
  const read = async (index: number, selection: Selection): Promise<readonly Rest[]> => {
    const projection = projections[index]!;
    const db = await pool.connect();
    const { position, token, rows, rest } = await sample(db, projection, selection).finally(() => db.release());
    const report = reports[index]!;
    reports[index] = { ...report, position: token, checked: report.checked + rows.length };
    if (position) samples.push({ projection, rows, until: position, index });
    if (samples.reduce((sum, sampled) => sum + sampled.rows.length, 0) >= rowsPerPass) await check();
    return rest;
  };
  for (const index of projections.keys()) {
    const unread = [...(await read(index, { limit: rowsPerTable }))];
    for (let from = unread.shift(); from; from = unread.shift()) unread.push(...(await read(index, { limit: rowsPerTable, from })));
  }
  await check();
  return reports;
};
