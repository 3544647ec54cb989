import type { Comparison } from './compare-tables.ts';

/**
 * `comparison` is the difference between the rebuilt rows and the live ones; null if their tables have different
 * shapes. `events` is the number of events from which the rows were rebuilt.
 */
export type RebuildComparison = { readonly comparison: Comparison | null; readonly events: number };

/** The end of a rebuild: its comparison with the old rows, and whether the rebuilt rows were promoted. */
export type RebuildResult = RebuildComparison & { readonly at: string; readonly promoted: boolean };
