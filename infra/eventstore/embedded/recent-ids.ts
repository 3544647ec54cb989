const GENERATION = 25_000;

type Seen = { stream: string; revision: number };

export type RecentIds = ReturnType<typeof createRecentIds>;

/** Where the latest event ids were first written: by this a repeat without a revision is recognised. Memory only, the best effort of a real node. */
export const createRecentIds = () => {
  let young = new Map<string, Seen>();
  let old = new Map<string, Seen>();
  const find = (id: string): Seen | undefined => young.get(id) ?? old.get(id);

  const add = (id: Buffer, stream: string, revision: number): void => {
    const text = id.toString('latin1');
    if (find(text)) return;
    if (young.size >= GENERATION) {
      old = young;
      young = new Map();
    }
    young.set(text, { stream, revision });
  };

  const revisionIn = (id: Buffer, stream: string): number | undefined => {
    const seen = find(id.toString('latin1'));
    return seen?.stream === stream ? seen.revision : undefined;
  };

  const clear = (): void => {
    young.clear();
    old.clear();
  };

  return { add, revisionIn, clear };
};
