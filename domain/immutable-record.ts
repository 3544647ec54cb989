/** Values by the id of whoever they belong to. */
export type Keyed<T> = Readonly<Record<string, T>>;

/**
 * The records that a fold under way has made itself and shown to nobody: it writes into these. To copy one for every event would take time by
 * the square of its entries.
 */
export type Own = WeakSet<object>;

const writable = <T>(record: Keyed<T>, own: Own | undefined): Record<string, T> => {
  if (own?.has(record)) return record as Record<string, T>;
  const copy = { ...record };
  own?.add(copy);
  return copy;
};

/** The record with a value under that key. */
export const put = <T>(record: Keyed<T>, key: string, value: T, own?: Own): Keyed<T> => {
  const kept = writable(record, own);
  kept[key] = value;
  return kept;
};

/** The record without that key. */
export const without = <T>(record: Keyed<T>, key: string, own?: Own): Keyed<T> => {
  const kept = writable(record, own);
  delete kept[key];
  return kept;
};
