export function csvOf(rows: readonly Record<string, unknown>[]): string;
