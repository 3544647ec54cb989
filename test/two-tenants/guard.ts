/** One fence taken down: in `file`, `from` (which must be there) becomes `to`. */
export type Edit = readonly [file: string, from: string, to: string];
/** What stands behind another fence is taken down with it: alone it changes no answer. `by`: the test that has to see it instead of the generator. */
export type Mutant = { readonly name: string; readonly edits: readonly Edit[]; readonly by?: string };

export const one = (name: string, ...edit: Edit): Mutant => ({ name, edits: [edit] });
export const seenBy = (by: string, name: string, ...edit: Edit): Mutant => ({ name, edits: [edit], by });
