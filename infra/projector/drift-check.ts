import type { ClientBase, Pool } from 'pg';
import { comparePositions, PLATFORM, type Position, parseToken, type Recorded, streamName } from '../../domain/event.ts';
import { type CompiledTable, compileProjection, type StoredRow } from '../../projections/engine/compiled-projection.ts';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Log } from '../eventstore/event-log.ts';
import { quoted } from '../postgres/pool.ts';
import { shapeOf } from './schema.ts';
import { storedRowOf } from './table-store.ts';

/** One row that is not what the log makes of it; `event` is the first one that it shows nothing of. */
export type DriftedRow = {
  readonly projection: string;
  readonly table: string;
  readonly key: Readonly<Record<string, string>>;
  readonly columns: readonly string[];
  readonly stored: Row;
  /** Null: the log makes no such row. */
  readonly folded: Row | null;
  readonly event: { readonly stream: string; readonly revision: number; readonly event_id: string; readonly type: string } | null;
};

export type DriftReport = {
  readonly projection: string;
  readonly position: string | null;
  readonly checked: number;
  readonly drifted: readonly DriftedRow[];
};

type Sampled = { readonly plan: CompiledTable; readonly key: string; readonly held: StoredRow };
type Snapshot = { readonly position: Position | null; readonly token: string | null; readonly rows: readonly Sampled[] };

const MAX_ROWS = 100_000;
const PER_FEED = 500;

const sample = async (db: ClientBase, projection: AnyProjection, most: number | 'all'): Promise<Snapshot> => {
  await db.query('begin isolation level repeatable read read only');
  try {
    await db.query('set local enable_seqscan = on; set local statement_timeout = 0');
    const { rows: checkpoints } = await db.query<{ token: string }>(
      `select commit_position || ':' || prepare_position as token from annals.checkpoints where name = $1 and version = $2 and shape = $3`,
      [projection.name, projection.version, shapeOf(projection)],
    );
    // What another version made is no measure of this one: it serves until this one is built.
    if (checkpoints.length === 0) return { position: null, token: null, rows: [] };
    const { token } = checkpoints[0]!;
    const rows: Sampled[] = [];
    for (const plan of compileProjection(projection).tables.values()) {
      const limit = most === 'all' ? `limit ${MAX_ROWS}` : `order by random() limit ${Math.floor(most)}`;
      const found = await db.query<Record<string, unknown>>(`select * from ${quoted(projection.name)}.${quoted(plan.table.name)} ${limit}`);
      for (const row of found.rows) rows.push({ plan, key: plan.keyText(row), held: storedRowOf(plan, row) });
    }
    const position = token === null ? null : parseToken(token);
    return { position, token: position && token, rows };
  } finally {
    await db.query('rollback').catch(() => {});
  }
};

const spelled = (value: unknown): string => JSON.stringify(value ?? null);

/** The columns in which two rows differ; all of them where one is missing. */
const differing = ({ columns, docs, table }: CompiledTable, a: StoredRow, b: StoredRow | undefined): string[] => {
  const names = columns.map(([name]) => name);
  if (!b) return names;
  return [
    ...names.filter((name) => spelled(a.row[name]) !== spelled(b.row[name])),
    ...docs.flatMap(({ name }, at) => (a.docs[at] === b.docs[at] ? [] : [name])),
    ...(table.stream && a.revision !== b.revision ? ['revision'] : []),
  ];
};

type Wanted = ReadonlyMap<string, Sampled>;
const nameOf = (table: string, key: string): string => `${table}\0${key}`;

/** Folds events for some rows alone; `each` is called after every part, with one event a part where it is asked for. */
const folded = async (
  projection: AnyProjection,
  wanted: Wanted,
  events: AsyncIterable<Recorded>,
  position: Position,
  part = PER_FEED,
  each?: (rows: (one: Sampled) => StoredRow | undefined, last: Recorded) => void,
) => {
  const sink = openMemoryStore([projection], (table, key) => wanted.has(nameOf(table, key)));
  const row = ({ plan, key }: Sampled) => sink.rows(projection.name, plan.table.name).get(key);
  let waiting: Recorded[] = [];
  const flush = () => {
    if (waiting.length === 0) return;
    sink.feed(waiting);
    each?.(row, waiting.at(-1)!);
    waiting = [];
  };
  for await (const event of events) {
    if (comparePositions(event.position, position) > 0) break;
    if (waiting.push(event) >= part) flush();
  }
  flush();
  return row;
};

const wantedOf = (rows: readonly Sampled[]): Wanted => new Map(rows.map((one) => [nameOf(one.plan.table.name, one.key), one]));

async function* concerning(log: Log, projection: AnyProjection): AsyncIterable<Recorded> {
  const { handles } = compileProjection(projection);
  for await (const event of log.readAll()) if (handles(event)) yield event;
}

const ownStream = ({ plan: { table }, held: { row } }: Sampled): string | null =>
  table.stream && typeof row.id === 'string'
    ? streamName(table.stream, table.key.includes('tenant_id') ? (row.tenant_id as string) : PLATFORM, row.id)
    : null;

/** Rows that their own stream alone explains need no more: reading it is cheap. Of the others the whole log has to be asked. */
const unexplained = async (log: Log, projection: AnyProjection, { rows, position }: Snapshot): Promise<Sampled[]> => {
  const left: Sampled[] = [];
  for (const one of rows) {
    const stream = ownStream(one);
    const row = stream && (await folded(projection, wantedOf([one]), log.read(stream), position!));
    if (!row || differing(one.plan, one.held, row(one)).length > 0) left.push(one);
  }
  return left;
};

/** The fields of a row's documents, or their items where one is a list. */
const shownIn = (held: StoredRow | undefined): [string, string][] =>
  (held?.docs ?? []).flatMap((text, at) =>
    Object.entries(JSON.parse(text) as object).map(([name, value]): [string, string] => [`${at}.${name}`, spelled(value)]),
  );

/** What can be told apart of a row: its columns, the fields of its documents, its revision, and whether it is there at all. */
const fieldsOf = ({ table, columns }: CompiledTable, held: StoredRow | undefined): ReadonlyMap<string, string> =>
  new Map([
    ['', String(held !== undefined)],
    ...columns.map(([name]): [string, string] => [name, spelled(held?.row[name])]),
    ...shownIn(held),
    ...(table.stream ? [['revision', spelled(held?.revision)] as const] : []),
  ]);

/**
 * How long a row's fields agreed with what is stored, each for itself: an event in the midst that was never applied is found though later
 * ones were. `parted` is the event by which the field went another way than it is stored; null while it agrees.
 */
type Course = {
  readonly stored: ReadonlyMap<string, string>;
  readonly parted: Map<string, Recorded | null>;
  before: StoredRow | undefined;
};

const went = (course: Course, fields: ReadonlyMap<string, string>, event: Recorded): void => {
  for (const name of new Set([...course.stored.keys(), ...fields.keys()])) {
    if (course.stored.get(name) === fields.get(name)) course.parted.set(name, null);
    else if (!course.parted.get(name)) course.parted.set(name, event);
  }
};

/** The first of the events by which a field parted from what is stored, the revision aside where anything else did. */
const firstOf = ({ parted }: Course): Recorded | null => {
  const events = [...parted].flatMap(([name, event]) => (event ? [{ name, event }] : []));
  const telling = events.some(({ name }) => name !== 'revision') ? events.filter(({ name }) => name !== 'revision') : events;
  return telling.map(({ event }) => event).sort((a, b) => comparePositions(a.position, b.position))[0] ?? null;
};

/** The first event that a drifted row shows nothing of. */
const divergence = async (
  log: Log,
  projection: AnyProjection,
  position: Position,
  rows: readonly Sampled[],
): Promise<Map<Sampled, Recorded | null>> => {
  const courses = new Map<Sampled, Course>(
    rows.map((one) => [one, { stored: fieldsOf(one.plan, one.held), parted: new Map(), before: undefined }]),
  );
  await folded(projection, wantedOf(rows), concerning(log, projection), position, 1, (row, event) => {
    for (const [one, course] of courses) {
      const held = row(one);
      if (held === course.before) continue;
      course.before = held;
      went(course, fieldsOf(one.plan, held), event);
    }
  });
  return new Map([...courses].map(([one, course]) => [one, firstOf(course)]));
};

const eventOf = (event: Recorded | null | undefined): DriftedRow['event'] =>
  event ? { stream: event.stream, revision: event.revision, event_id: event.event_id, type: event.type } : null;

/**
 * Folds sampled rows again from the log, up to the projection's checkpoint, and compares. `most`: rows a table, or 'all' (at most
 * 100,000 a table; a row that the log makes and the table has lost is found by a rebuild, which compares both ways).
 */
export const checkDrift = async (log: Log, pool: Pool, projection: AnyProjection, most: number | 'all'): Promise<DriftReport> => {
  const db = await pool.connect();
  const snapshot = await sample(db, projection, most).finally(() => db.release());
  const { position, token, rows } = snapshot;
  const report = { projection: projection.name, position: token, checked: rows.length };
  if (!position) return { ...report, drifted: [] };
  const left = most === 'all' ? rows : await unexplained(log, projection, snapshot);
  if (left.length === 0) return { ...report, drifted: [] };
  const row = await folded(projection, wantedOf(left), concerning(log, projection), position);
  const wrong = left.filter((one) => differing(one.plan, one.held, row(one)).length > 0);
  const events = wrong.length > 0 ? await divergence(log, projection, position, wrong) : new Map<Sampled, Recorded | null>();
  return {
    ...report,
    drifted: wrong.map((one) => ({
      projection: projection.name,
      table: one.plan.table.name,
      key: one.plan.keyOf(one.key),
      columns: differing(one.plan, one.held, row(one)),
      stored: one.held.row,
      folded: row(one)?.row ?? null,
      event: eventOf(events.get(one)),
    })),
  };
};
