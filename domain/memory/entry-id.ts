import { isId25 } from '../id.ts';

/** How much of the import's id an entry's id contains. */
const PREFIX_LENGTH = 20;
const INDEX_LENGTH = 5;

/** The start of the import's id (19 random characters, so unique), then the index in the import in base 36: ids sort as the entries do. */
export const entryIdOf = (import_id: string, index: number): string =>
  import_id.slice(0, PREFIX_LENGTH) + index.toString(36).padStart(INDEX_LENGTH, '0');

export const indexOfEntry = (entry_id: string): number => Number.parseInt(entry_id.slice(PREFIX_LENGTH), 36);

export const isEntryOf = (import_id: string, entry_id: string): boolean =>
  isId25(entry_id) && entry_id.startsWith(import_id.slice(0, PREFIX_LENGTH));

/** The lowest and the highest id that entries of this entry's import can have. */
export const importIdRange = (entry_id: string): { readonly first: string; readonly last: string } => ({
  first: entry_id.slice(0, PREFIX_LENGTH) + '0'.repeat(INDEX_LENGTH),
  last: entry_id.slice(0, PREFIX_LENGTH) + 'z'.repeat(INDEX_LENGTH),
});
