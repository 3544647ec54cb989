export type ById<T> = Readonly<Record<string, T>>;

/** Records that the present fold has copied, and so may change. Copying them again for every event would take quadratic time. */
export type Transient = WeakSet<object>;

const writableCopy = <T>(record: ById<T>, transient: Transient | undefined): Record<string, T> => {
  if (transient?.has(record)) return record as Record<string, T>;
  const copy = { ...record };
  transient?.add(copy);
  return copy;
};

/** Changes the record in place only if `transient` contains it; otherwise copies it. */
export const withEntry = <T>(record: ById<T>, key: string, value: T, transient?: Transient): ById<T> => {
  const copy = writableCopy(record, transient);
  copy[key] = value;
  return copy;
};

/** Changes the record in place only if `transient` contains it; otherwise copies it. */
export const withoutEntry = <T>(record: ById<T>, key: string, transient?: Transient): ById<T> => {
  const copy = writableCopy(record, transient);
  delete copy[key];
  return copy;
};
