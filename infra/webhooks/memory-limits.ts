import type { BodyOwner } from '../../commands/webhooks/webhook-ports.ts';

/** The most chunks that all bodies, those of one tenant, and those of one integration may use at the same time. */
export type MemoryLimits = { readonly total: number; readonly tenant: number; readonly integration: number };

/** A body that uses memory: the chunks that it has, and the most that it can need. */
type Holder = { readonly owner: BodyOwner; readonly chunks: { readonly length: number }; readonly maxChunks: number };

type Limited = { readonly held: number; readonly missing: number; readonly keys: readonly string[] };

/** The names of the limits that apply to a body. */
const keysOf = ({ tenant, integration }: BodyOwner): readonly string[] => ['total', `tenant ${tenant}`, `integration ${integration}`];

/**
 * Whether a body may take one more chunk. It may not if the bodies could then block each other, because each waits for
 * memory that the others hold. This is the banker's algorithm: there must be an order in which every body can get all
 * the chunks that it still needs and then release them.
 */
export const canTakeChunk = (limits: MemoryLimits, bodies: Iterable<Holder>, body: Holder): boolean => {
  const free = new Map<string, number>();
  const limitOf = (key: string): number => limits[key.split(' ')[0] as keyof MemoryLimits];
  const freeIn = (key: string): number => free.get(key) ?? limitOf(key);
  let unfinished: Limited[] = [];
  for (const each of bodies) {
    const held = each.chunks.length + (each === body ? 1 : 0);
    if (held === 0) continue;
    const keys = keysOf(each.owner);
    for (const key of keys) free.set(key, freeIn(key) - held);
    unfinished.push({ held, missing: Math.max(0, each.maxChunks - held), keys });
  }
  if ([...free.values()].some((chunks) => chunks < 0)) return false;
  for (;;) {
    const { finishing = [], blocked = [] } = Object.groupBy(unfinished, ({ missing, keys }) =>
      keys.every((key) => missing <= freeIn(key)) ? 'finishing' : 'blocked',
    );
    if (blocked.length === 0) return true;
    if (finishing.length === 0) return false;
    for (const { held, keys } of finishing) for (const key of keys) free.set(key, freeIn(key) + held);
    unfinished = blocked;
  }
};
