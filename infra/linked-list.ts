/** Refers to its neighbours only while it is in the list. */
export type ListItem<T> = { readonly value: T; previous: ListItem<T> | null; next: ListItem<T> | null };

export type LinkedList<T> = {
  readonly add: (value: T) => ListItem<T>;
  /** Does nothing if the item is no longer in the list. */
  readonly remove: (item: ListItem<T>) => void;
  /** Returns the values that are in the list, in the order in which they were added. */
  readonly values: () => T[];
};

/**
 * Creates a list from which any item can be removed. For items that are added and removed with each request, it is
 * better than a Set, which often replaces its internal table. Until the next full garbage collection, everything to
 * which an old table refers counts as used, so requests that ended long ago would stay in memory with their bodies.
 */
export const createLinkedList = <T>(): LinkedList<T> => {
  let first: ListItem<T> | null = null;
  let last: ListItem<T> | null = null;

  const add = (value: T): ListItem<T> => {
    const item: ListItem<T> = { value, previous: last, next: null };
    if (last) last.next = item;
    first ??= item;
    last = item;
    return item;
  };

  const remove = (item: ListItem<T>): void => {
    if (item !== first && item.previous === null) return;
    if (item.previous) item.previous.next = item.next;
    if (item.next) item.next.previous = item.previous;
    if (item === first) first = item.next;
    if (item === last) last = item.previous;
    item.previous = null;
    item.next = null;
  };

  const values = (): T[] => {
    const found: T[] = [];
    for (let item = first; item; item = item.next) found.push(item.value);
    return found;
  };

  return { add, remove, values };
};
