/** Values by the id of whoever they belong to. */
export type ById<T> = Readonly<Record<string, T>>;

/**
 * The records that a fold under way has made itself and shown to nobody: it writes into these. To copy one for every event would take time by
 * the square of its entries.
 */
export type Transient = WeakSet<object>;

const writableCopy = <T>(record: ById<T>, own: Transient | undefined): Record<string, T> => {
  if (own?.has(record)) return record as Record<string, T>;
  const copy = { ...record };
  own?.add(copy);
  return copy;
};

/** The record with a value under that key. */
export const withEntry = <T>(record: ById<T>, key: string, value: T, own?: Transient): ById<T> => {
  const kept = writableCopy(record, own);
  kept[key] = value;
  return kept;
};

/** The record without that key. */
export const withoutEntry = <T>(record: ById<T>, key: string, own?: Transient): ById<T> => {
  const kept = writableCopy(record, own);
  delete kept[key];
  return kept;
};
