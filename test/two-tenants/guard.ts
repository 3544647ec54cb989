/**
 * An edit that removes a guard (an access check): in `file`, the text `from` is replaced by `to`. `from` must occur in
 * the file.
 */
export type Edit = readonly [file: string, from: string, to: string];
/**
 * The edits that make a copy of the code without one guard. If several guards protect the same data, and each alone
 * would be enough, all of them are removed. `by` is the test that must fail for this copy. By default, it is the test
 * with the tenant isolation probes.
 */
export type Mutant = { readonly name: string; readonly edits: readonly Edit[]; readonly by?: string };

export const mutant = (name: string, ...edit: Edit): Mutant => ({ name, edits: [edit] });
export const mutantSeenBy = (by: string, name: string, ...edit: Edit): Mutant => ({ name, edits: [edit], by });
