import type { NewEntry } from '../../domain/memory/memory-entry.ts';
import type { CursorKey } from '../../projections/cursor.ts';

/**
 * A step through the list of a memory: an entry as JSON, or null after the last entry of what was read at once. `key` is
 * the sort key in the list.
 */
export type Step = { readonly key: CursorKey; readonly entry: string | null };

/** The start of a list, its order, the text (in lower case) that its entries must contain, and their maximum number. */
export type Walk = {
  readonly descending: boolean;
  readonly after: CursorKey | null;
  readonly q: string | undefined;
  readonly limit: number;
};

/** Returns whether an entry contains a text, which is in lower case. */
export const containsText = ({ text, source }: NewEntry, q: string | undefined): boolean =>
  q === undefined || `${text}\n${source}`.toLowerCase().includes(q);

const isBefore = ([a, idOfA]: CursorKey, [b, idOfB]: CursorKey): boolean => (a === b ? idOfA < idOfB : a! < b!);

/** Merges two lists of steps, both in list order. */
export async function* mergeSteps(one: AsyncGenerator<Step>, other: AsyncGenerator<Step>, descending: boolean): AsyncGenerator<Step> {
  let [a, b] = [await one.next(), await other.next()];
  while (!a.done || !b.done) {
    if (b.done || (!a.done && isBefore(a.value.key, b.value.key) !== descending)) {
      if (!a.done) yield a.value;
      a = await one.next();
    } else {
      yield b.value;
      b = await other.next();
    }
  }
}
