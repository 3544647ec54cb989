import type { BodyOwner } from '../../commands/deliveries/webhook-ports.ts';

/** The limits for all bodies together, for the bodies of one tenant, and for the bodies of one integration. */
export type Limits = { readonly total: number; readonly tenant: number; readonly integration: number };

/** A count of zero takes no memory. */
export type Usage = {
  /** `count` may be negative. */
  readonly add: (owner: BodyOwner, count: number) => void;
  readonly ofTenant: (tenant: string) => number;
  /** How much more the owner may use within all limits. Negative if it uses too much. */
  readonly free: (owner: BodyOwner) => number;
};

/** `chunks` are those that it has now, `maxChunks` how many it can need at most. */
export type Holder = { readonly owner: BodyOwner; readonly chunks: { readonly length: number }; readonly maxChunks: number };

const addTo = (counts: Map<string, number>, key: string, count: number): void => {
  const sum = (counts.get(key) ?? 0) + count;
  if (sum === 0) counts.delete(key);
  if (sum !== 0) counts.set(key, sum);
};

export const createUsage = (limits: Limits): Usage => {
  let total = 0;
  const tenants = new Map<string, number>();
  const integrations = new Map<string, number>();
  return {
    add: ({ tenant, integration }, count) => {
      total += count;
      addTo(tenants, tenant, count);
      addTo(integrations, integration, count);
    },
    ofTenant: (tenant) => tenants.get(tenant) ?? 0,
    free: ({ tenant, integration }) =>
      Math.min(limits.total - total, limits.tenant - (tenants.get(tenant) ?? 0), limits.integration - (integrations.get(integration) ?? 0)),
  };
};

export const usageOf = (limits: Limits, holders: Iterable<Holder>): Usage => {
  const usage = createUsage(limits);
  for (const { owner, chunks } of holders) usage.add(owner, chunks.length);
  return usage;
};

/**
 * One more chunk must not risk a deadlock of bodies that wait for each other. The banker's algorithm: in some order, every body can get all
 * the chunks that it still needs, and release them before the next continues. `holders` are the bodies with chunks, which `usage` counts.
 */
export const canTakeChunk = (limits: Limits, usage: Usage, holders: ReadonlySet<Holder>, body: Holder): boolean => {
  if (usage.free(body.owner) < 1) return false;
  const left = usageOf(limits, holders);
  left.add(body.owner, 1);
  const heldBy = (each: Holder): number => each.chunks.length + (each === body ? 1 : 0);
  const canFinish = (each: Holder): boolean => each.maxChunks - heldBy(each) <= left.free(each.owner);
  let unfinished = holders.has(body) ? [...holders] : [...holders, body];
  for (;;) {
    const { finishing = [], blocked = [] } = Object.groupBy(unfinished, (each) => (canFinish(each) ? 'finishing' : 'blocked'));
    if (blocked.length === 0) return true;
    if (finishing.length === 0) return false;
    for (const each of finishing) left.add(each.owner, -heldBy(each));
    unfinished = blocked;
  }
};
