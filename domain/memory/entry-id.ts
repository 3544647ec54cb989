import { isId25 } from '../id.ts';

/** The number of characters in an entry's id that are taken from the id of its import. */
const PREFIX_LENGTH = 20;
const INDEX_LENGTH = 5;

/**
 * Returns the id of an entry: the start of the id of its import, followed by the index of the entry in the import, from
 * 0, in base 36. So the ids of an import's entries have the order of the entries. The start of an import's id contains
 * 19 random characters, so no two imports share it.
 */
export const entryIdOf = (import_id: string, index: number): string =>
  import_id.slice(0, PREFIX_LENGTH) + index.toString(36).padStart(INDEX_LENGTH, '0');

export const indexOfEntry = (entry_id: string): number => Number.parseInt(entry_id.slice(PREFIX_LENGTH), 36);

export const isEntryOf = (import_id: string, entry_id: string): boolean =>
  isId25(entry_id) && entry_id.startsWith(import_id.slice(0, PREFIX_LENGTH));

/** Returns the lowest and the highest id that entries of the import of this entry can have. */
export const importIdRange = (entry_id: string): { readonly first: string; readonly last: string } => ({
  first: entry_id.slice(0, PREFIX_LENGTH) + '0'.repeat(INDEX_LENGTH),
  last: entry_id.slice(0, PREFIX_LENGTH) + 'z'.repeat(INDEX_LENGTH),
});
