import type { Comparison } from './compare-tables.ts';

/**
 * `comparison` is the difference between the rebuilt rows and the live rows; null if their tables have different
 * definitions. `events` is the number of events from which the rows were rebuilt. `version` is the version of the
 * projection.
 */
export type RebuildComparison = { readonly comparison: Comparison | null; readonly events: number; readonly version: number };

export type RebuildResult = RebuildComparison & { readonly at: string; readonly promoted: boolean };
