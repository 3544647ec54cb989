import { invalid } from '../domain/refusal.ts';
import { columnValue } from './column-values.ts';
import type { PageQuery } from './read-model.ts';
import type { ColumnType } from './table.ts';

export type SortValue = string | number | boolean | null;
/** The place behind a page's last row: its sort value and the key column that breaks ties. */
export type CursorKey = readonly [value: SortValue, id: string];

export const columnType = ({ table }: PageQuery['from'], name: string): ColumnType => {
  const type = table.columns[name] ?? (table.counters?.includes(name) ? 'bigint' : undefined);
  if (!type) throw new Error(`table ${table.name} has no column ${name} to ask by`);
  return type;
};

export const writeCursor = (place: CursorKey): string => Buffer.from(JSON.stringify(place)).toString('base64url');

const malformed = () => invalid('/query/cursor', 'The cursor is not one that a page gave.');

const parsed = (cursor: string): unknown => {
  try {
    return /^[\w-]+$/.test(cursor) ? JSON.parse(Buffer.from(cursor, 'base64url').toString()) : null;
  } catch {
    return null;
  }
};

const isOf = (type: ColumnType, value: unknown): boolean => {
  try {
    return columnValue(type, value) === value;
  } catch {
    return false;
  }
};

/** The place that a cursor names in a list sorted by a value of that type; null where there is none. @throws Refusal invalid at /query/cursor */
export const readPlace = (cursor: string | undefined, type: ColumnType): CursorKey | null => {
  if (cursor === undefined) return null;
  const place = parsed(cursor);
  if (!Array.isArray(place) || place.length !== 2) throw malformed();
  const [value, id] = place as [unknown, unknown];
  if (!isOf('text', id) || id === null || !isOf(type, value)) throw malformed();
  return [value as SortValue, id as string];
};

/** The same of a page of rows. @throws Refusal invalid at /query/cursor */
export const readCursor = ({ cursor, from, sort }: PageQuery): CursorKey | null => readPlace(cursor, columnType(from, sort.column));
