/**
 * An edit that removes a guard (an access check) from the code: in `file`, it replaces the text `from` by `to`. The
 * file must contain `from`.
 */
export type Edit = readonly [file: string, from: string, to: string];
/**
 * A mutant: a copy of the code without one guard. `edits` remove the guard; if several guards protect the same data,
 * and any one of them suffices, all of them are removed. `by` is the test that must fail for the mutant; if absent, the
 * test with the tenant isolation probes.
 */
export type Mutant = { readonly name: string; readonly edits: readonly Edit[]; readonly by?: string };

export const mutant = (name: string, ...edit: Edit): Mutant => ({ name, edits: [edit] });
export const mutantSeenBy = (by: string, name: string, ...edit: Edit): Mutant => ({ name, edits: [edit], by });
