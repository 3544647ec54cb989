/** Returns a copy that lacks these fields. */
export const omit = <T extends object, Name extends keyof T>(value: T, ...names: readonly Name[]): Omit<T, Name> => {
  const omitted: readonly PropertyKey[] = names;
  const kept: Partial<T> = {};
  for (const name in value) if (!omitted.includes(name)) kept[name] = value[name];
  return kept as Omit<T, Name>;
};
