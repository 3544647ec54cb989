import { compareText, escapeText } from '../column-values.ts';
import { type CursorKey, columnType, readCursor, type SortValue } from '../cursor.ts';
import type { Row } from '../projection.ts';
import { type Condition, type PageQuery, takeUpToPageSize } from '../read-model.ts';
import type { StoredRow } from './compiled-projection.ts';

type Rows = (table: string) => readonly StoredRow[];

/** Compares two column values in the order in which Postgres sorts by default: null is greater than any other value. */
const compare = (a: unknown, b: unknown): number => {
  if (a === b) return 0;
  if (a === null || a === undefined) return b === null || b === undefined ? 0 : 1;
  if (b === null || b === undefined) return -1;
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  return Number(a) - Number(b);
};

const instant = (value: string): string => new Date(value).toISOString();

/** Converts the value of a condition to the form in which rows store it, so that both can be compared. */
const comparable = (value: unknown, timed: boolean): unknown =>
  typeof value !== 'string' ? value : timed ? instant(value) : escapeText(value);

const compares = (
  row: Row,
  { column, op, value }: Extract<Condition, { value: unknown; op: '=' | '<' | '<=' | '>' | '>=' }>,
  timed: boolean,
) => {
  const stored = row[column];
  if (value === null) return op === '=' && (stored === null || stored === undefined);
  if (stored === null || stored === undefined) return false;
  const order = compare(stored, comparable(value, timed));
  return { '=': order === 0, '<': order < 0, '<=': order <= 0, '>': order > 0, '>=': order >= 0 }[op];
};

const holds = (condition: Condition, row: Row, rows: Rows, typeOf: (column: string) => string | null): boolean => {
  if (condition.op === 'exists')
    return rows(condition.table).some(
      (other) =>
        Object.entries(condition.on).every(([theirs, ours]) => other.row[theirs] === row[ours]) &&
        condition.where.every((one) => holds(one, other.row, rows, () => null)),
    );
  if (condition.op === 'in') return condition.value.some((value) => escapeText(value) === row[condition.column]);
  if (condition.op === 'contains') {
    const wanted = escapeText(condition.value).toLowerCase();
    return [condition.column].flat().some((column) => ((row[column] as string | null) ?? '').toLowerCase().includes(wanted));
  }
  return compares(row, condition, typeOf(condition.column) === 'timestamptz');
};

/**
 * Returns one page of rows. The documents with the index `doc` limit the size of the page. `next` is the cursor key of
 * the next page; null on the last page.
 * @throws Refusal invalid if the cursor is malformed
 */
export const pageOf = (query: PageQuery, rows: Rows, doc: number): { held: readonly StoredRow[]; next: CursorKey | null } => {
  const { from, sort, limit, tieBreak = 'id' } = query;
  columnType(from, sort.column);
  const place = readCursor(query);
  const direction = sort.descending ? -1 : 1;
  const order = (a: Row, b: Row): number => direction * (compare(a[sort.column], b[sort.column]) || compare(a[tieBreak], b[tieBreak]));
  const hidden = from.table.softDelete;
  const found = rows(from.table.name).filter(
    ({ row }) =>
      !(hidden && row[hidden]) &&
      query.where.every((condition) => holds(condition, row, rows, (column) => columnType(from, column))) &&
      (!place || order({ [sort.column]: place[0], [tieBreak]: place[1] }, row) < 0),
  );
  const most = found.sort((a, b) => order(a.row, b.row)).slice(0, limit);
  const held = most.slice(0, takeUpToPageSize(most.map(({ docs }) => docs[doc]!)).length);
  const last = held.at(-1)?.row;
  return { held, next: last && found.length > held.length ? [(last[sort.column] ?? null) as SortValue, last[tieBreak] as string] : null };
};
