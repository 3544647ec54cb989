import type { Comparison } from './compare-tables.ts';

/**
 * How the rebuilt rows compare with the live ones (null if their tables have different shapes), and from how many
 * events they were built.
 */
export type RebuildComparison = { readonly comparison: Comparison | null; readonly events: number };

/** How a rebuild ended: the rows that differed from the old ones, and whether the rebuilt rows replaced them. */
export type RebuildResult = RebuildComparison & { readonly at: string; readonly promoted: boolean };
