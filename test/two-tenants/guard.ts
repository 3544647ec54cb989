/** Removes a guard: in `file`, `from`, which must occur, is replaced by `to`. */
export type Edit = readonly [file: string, from: string, to: string];
/**
 * Guards that only work together are removed together. `by` is the test that detects it; default: the probes of tenant
 * isolation.
 */
export type Mutant = { readonly name: string; readonly edits: readonly Edit[]; readonly by?: string };

export const mutant = (name: string, ...edit: Edit): Mutant => ({ name, edits: [edit] });
export const mutantSeenBy = (by: string, name: string, ...edit: Edit): Mutant => ({ name, edits: [edit], by });
