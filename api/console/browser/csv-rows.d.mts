export function withoutFormulas(text: string): string;
export function csvRow(cells: readonly unknown[]): string;
export function csvOf(rows: readonly Record<string, unknown>[]): string;
