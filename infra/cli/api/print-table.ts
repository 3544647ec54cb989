import { isRawNumber } from '../../../domain/bodies/json-values.ts';
import { spaceControls } from '../../logging/escape-controls.ts';
import { usageError } from '../arguments.ts';
import { type Column, fittingColumns } from './table-columns.ts';

const MAX_CELL_WIDTH = 40;
const GAP = '  ';

type Row = Readonly<Record<string, unknown>>;

/** `hidden` are the fields that the table does not show. */
export type Table = { readonly lines: readonly string[]; readonly hidden: readonly string[] };

const cellOf = (value: unknown): string => {
  const text = value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
  return spaceControls(text);
};

const shortened = (cell: string): string => (cell.length > MAX_CELL_WIDTH ? `${cell.slice(0, MAX_CELL_WIDTH - 1)}…` : cell);

const columnOf =
  (rows: readonly Row[]) =>
  (name: string): Column => ({
    name,
    cells: rows.map((row) => cellOf(row[name])),
    isNested: rows.some((row) => typeof row[name] === 'object' && row[name] !== null && !isRawNumber(row[name])),
  });

/** @throws a usage error if there is no such field */
const namedColumns = (rows: readonly Row[], all: readonly string[], names: readonly string[]): readonly Column[] => {
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined && rows.length > 0) throw usageError(`There is no column ${unknown}; there are ${all.join(', ')}`);
  return names.map(columnOf(rows));
};

const linesOf = (columns: readonly Column[], rows: number): readonly string[] => {
  const texts = columns.map(({ name, cells }) => [name.toUpperCase(), ...cells]);
  const widths = texts.map((cells) => Math.max(...cells.map((cell) => cell.length)));
  return Array.from({ length: rows + 1 }, (_, line) =>
    texts
      .map((cells, index) => cells[line]!.padEnd(widths[index]!))
      .join(GAP)
      .trimEnd(),
  );
};

/**
 * Without names, shows the fields that people need first and that fit into `width` characters.
 * @throws a usage error if a named field does not exist
 */
export const tableOf = (
  rows: readonly Row[],
  { width, names }: { readonly width: number; readonly names: readonly string[] | null },
): Table => {
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (names !== null) return { lines: linesOf(namedColumns(rows, all, names), rows.length), hidden: [] };
  if (all.length === 0) return { lines: [], hidden: [] };
  const short = all.map(columnOf(rows)).map((column) => ({ ...column, cells: column.cells.map(shortened) }));
  const columns = fittingColumns(short, width, GAP.length);
  return { lines: linesOf(columns, rows.length), hidden: all.filter((name) => !columns.some((column) => column.name === name)) };
};

export const isTabular = (value: unknown): value is readonly Row[] =>
  Array.isArray(value) && value.every((row) => typeof row === 'object' && row !== null && !Array.isArray(row));
