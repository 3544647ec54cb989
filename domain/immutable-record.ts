/** Values by id, such as user id. */
export type ById<T> = Readonly<Record<string, T>>;

/**
 * The records that a running fold has copied. No other code has seen these copies yet, so the fold may change them in
 * place. Copying for every event would make the time grow with the square of the number of entries.
 */
export type Transient = WeakSet<object>;

const writableCopy = <T>(record: ById<T>, transient: Transient | undefined): Record<string, T> => {
  if (transient?.has(record)) return record as Record<string, T>;
  const copy = { ...record };
  transient?.add(copy);
  return copy;
};

/** Returns the record with this entry set. */
export const withEntry = <T>(record: ById<T>, key: string, value: T, transient?: Transient): ById<T> => {
  const copy = writableCopy(record, transient);
  copy[key] = value;
  return copy;
};

/** Returns the record without this entry. */
export const withoutEntry = <T>(record: ById<T>, key: string, transient?: Transient): ById<T> => {
  const copy = writableCopy(record, transient);
  delete copy[key];
  return copy;
};
