/** Owners take turns. The items of one owner keep their order. */
export const createFairQueue = <T>() => {
  const byOwner = new Map<string, T[]>();
  let size = 0;
  return {
    size: (): number => size,
    sizeOf: (owner: string): number => byOwner.get(owner)?.length ?? 0,
    add: (owner: string, item: T): void => {
      const items = byOwner.get(owner);
      if (items) items.push(item);
      else byOwner.set(owner, [item]);
      size++;
    },
    /** Undefined if the queue is empty. */
    next: (): T | undefined => {
      const [first] = byOwner;
      if (!first) return undefined;
      const [owner, items] = first;
      const item = items.shift();
      byOwner.delete(owner);
      if (items.length > 0) byOwner.set(owner, items);
      size--;
      return item;
    },
  };
};
