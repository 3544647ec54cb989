/** How to remove a guard: in `file`, replace the text `from`, which must occur there, by `to`. */
export type Edit = readonly [file: string, from: string, to: string];
/**
 * A copy of the code without one guard. If several guards protect the same data, and each alone would be enough, the
 * copy is without all of them. `by` is the test that must detect this; by default, the probes of tenant isolation.
 */
export type Mutant = { readonly name: string; readonly edits: readonly Edit[]; readonly by?: string };

export const mutant = (name: string, ...edit: Edit): Mutant => ({ name, edits: [edit] });
export const mutantSeenBy = (by: string, name: string, ...edit: Edit): Mutant => ({ name, edits: [edit], by });
