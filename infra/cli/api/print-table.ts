const MAX_CELL_WIDTH = 40;
const GAP = '  ';

type Row = Readonly<Record<string, unknown>>;

const cellOf = (value: unknown): string => {
  const text = value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters could change what the terminal shows
  const line = text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, ' ');
  return line.length > MAX_CELL_WIDTH ? `${line.slice(0, MAX_CELL_WIDTH - 1)}…` : line;
};

/** Returns the columns that fit into the width, in the order of the fields. The first column is always included. */
const fittingColumns = (columns: readonly (readonly string[])[], width: number): readonly (readonly string[])[] => {
  let used = 0;
  const end = columns.findIndex((cells, index) => {
    used += Math.max(...cells.map((cell) => cell.length)) + (index > 0 ? GAP.length : 0);
    return index > 0 && used > width;
  });
  return end < 0 ? columns : columns.slice(0, end);
};

/** Returns the lines of a table of these rows, with the fields that fit into `width` characters. */
export const tableLines = (rows: readonly Row[], width: number): readonly string[] => {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (names.length === 0) return [];
  const columns = fittingColumns(
    names.map((name) => [name.toUpperCase(), ...rows.map((row) => cellOf(row[name]))]),
    width,
  );
  const widths = columns.map((cells) => Math.max(...cells.map((cell) => cell.length)));
  return ['', ...rows].map((_, line) =>
    columns
      .map((cells, index) => cells[line]!.padEnd(widths[index]!))
      .join(GAP)
      .trimEnd(),
  );
};

/** Returns whether a value can be shown as a table, which means that it is a list of objects. */
export const isTabular = (value: unknown): value is readonly Row[] =>
  Array.isArray(value) && value.every((row) => typeof row === 'object' && row !== null && !Array.isArray(row));
