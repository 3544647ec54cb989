/** A read-only map from ids, such as user ids, to values. */
export type ById<T> = Readonly<Record<string, T>>;

/**
 * The records that the present fold has already copied. Nothing else refers to these copies yet, so the fold can change
 * them. If the fold copied a record again for every event, its time would increase with the square of the number of
 * events.
 */
export type Transient = WeakSet<object>;

const writableCopy = <T>(record: ById<T>, transient: Transient | undefined): Record<string, T> => {
  if (transient?.has(record)) return record as Record<string, T>;
  const copy = { ...record };
  transient?.add(copy);
  return copy;
};

/**
 * Returns the record with this entry added or replaced. The given record is changed only if `transient` contains it;
 * otherwise it is copied first.
 */
export const withEntry = <T>(record: ById<T>, key: string, value: T, transient?: Transient): ById<T> => {
  const copy = writableCopy(record, transient);
  copy[key] = value;
  return copy;
};

/**
 * Returns the record without this entry. The given record is changed only if `transient` contains it; otherwise it is
 * copied first.
 */
export const withoutEntry = <T>(record: ById<T>, key: string, transient?: Transient): ById<T> => {
  const copy = writableCopy(record, transient);
  delete copy[key];
  return copy;
};
