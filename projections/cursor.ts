import { invalid } from '../domain/refusal.ts';
import { columnValue } from './column-values.ts';
import type { ColumnType, Table } from './table.ts';

export type SortValue = string | number | boolean | null;
/**
 * Where the next page starts: the sort value and the id of the last row of the previous page. The id orders rows with
 * equal sort values. A query can use another key column of its table instead of the id.
 */
export type CursorKey = readonly [value: SortValue, id: string];

/** Returns the type of a column or counter. @throws Error if the table has no such column */
export const columnType = (table: Table, name: string): ColumnType => {
  const type = table.columns[name] ?? (table.counters?.includes(name) ? 'bigint' : undefined);
  if (!type) throw new Error(`table ${table.name} has no column ${name}`);
  return type;
};

/** The order of a list that can be sorted. `name` is what `sort` calls it; by default, the column. */
export type ListOrder = { readonly column: string; readonly descending: boolean; readonly name?: string };

const nameOf = ({ column, descending, name = column }: ListOrder): string => (descending ? `-${name}` : name);

/** `order` is null for a list that has only one. */
export const writeCursor = (key: CursorKey, order: ListOrder | null): string =>
  Buffer.from(JSON.stringify(order ? [...key, nameOf(order)] : key)).toString('base64url');

const malformed = () => invalid('/query/cursor', 'This is not a cursor that a page returned.');

const decode = (cursor: string): unknown => {
  try {
    return /^[\w-]+$/.test(cursor) ? JSON.parse(Buffer.from(cursor, 'base64url').toString()) : null;
  } catch {
    return null;
  }
};

const isValueOf = (type: ColumnType, value: unknown): boolean => {
  try {
    return columnValue(type, value) === value;
  } catch {
    return false;
  }
};

/**
 * Decodes a cursor; returns null if none is given. `type` is the type of the values by which the list is sorted; `order` is null for a list
 * that has only one.
 * @throws Refusal invalid at /query/cursor if the cursor is malformed, or belongs to another order
 */
export const readCursorKey = (cursor: string | null | undefined, type: ColumnType, order: ListOrder | null): CursorKey | null => {
  if (cursor === undefined || cursor === null) return null;
  const key = decode(cursor);
  if (!Array.isArray(key) || key.length !== (order ? 3 : 2)) throw malformed();
  const [value, id, name] = key as [unknown, unknown, unknown];
  if (order && name !== nameOf(order))
    throw invalid('/query/cursor', 'This cursor belongs to another order of the list: begin with its first page, without a cursor.');
  if (!isValueOf('text', id) || id === null || !isValueOf(type, value)) throw malformed();
  return [value as SortValue, id as string];
};
