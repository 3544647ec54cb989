import { isId25 } from '../id.ts';

/** How many characters of an entry's id are those of its import. */
const PREFIX_LENGTH = 20;
const INDEX_LENGTH = 5;

/**
 * The id of an entry: the start of the id of its import, and its index in the import, from 0. So within an import, ids
 * are in the order of the entries. (The start of an import's id has 19 random characters, so it is unique.)
 */
export const entryIdOf = (import_id: string, index: number): string =>
  import_id.slice(0, PREFIX_LENGTH) + index.toString(36).padStart(INDEX_LENGTH, '0');

/** Returns the index of the entry with an id. */
export const indexOfEntry = (entry_id: string): number => Number.parseInt(entry_id.slice(PREFIX_LENGTH), 36);

/** Whether an entry with this id is of this import. */
export const isEntryOf = (import_id: string, entry_id: string): boolean =>
  isId25(entry_id) && entry_id.startsWith(import_id.slice(0, PREFIX_LENGTH));

/** The first and the last id that an import may have whose entry has this id. */
export const importIdRange = (entry_id: string): { readonly first: string; readonly last: string } => ({
  first: entry_id.slice(0, PREFIX_LENGTH) + '0'.repeat(INDEX_LENGTH),
  last: entry_id.slice(0, PREFIX_LENGTH) + 'z'.repeat(INDEX_LENGTH),
});
