/** Returns the median of the values, or NaN if there are none. */
export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
};

const numberFormat = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export const count = (value: number): string => (Number.isFinite(value) ? numberFormat.format(value) : '-');

export const milliseconds = (value: number): string => (Number.isFinite(value) ? value.toFixed(value < 10 ? 2 : 1) : '-');

export const ratio = (value: number): string => (Number.isFinite(value) ? value.toFixed(2) : '-');

/** Formats a Markdown table. The first column is aligned left, the others right. */
export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => row[column]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join(' | ')} |`;
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
};
