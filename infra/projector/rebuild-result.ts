import type { Comparison } from './compare-tables.ts';

/**
 * `comparison` says how the rebuilt rows differ from the live ones; null if their tables have different shapes.
 * `events` is the number of events from which the rows were rebuilt.
 */
export type RebuildComparison = { readonly comparison: Comparison | null; readonly events: number };

/** How a rebuild ended: its comparison with the old rows, and whether the rebuilt rows were promoted. */
export type RebuildResult = RebuildComparison & { readonly at: string; readonly promoted: boolean };
