import type { Aggregate, Decision } from '../domain/aggregate.ts';
import type { DomainEvent } from '../domain/event.ts';
import type { Ctx, Loaded } from './context.ts';

/** The unique key of a new resource, and what to do with each generation of the key. */
export type UniqueKey<S, E extends DomainEvent> = {
  readonly kind: string;
  readonly key: string;
  /**
   * Returns the decision for this generation of the key: it creates the resource, or closes the generation.
   * @throws Refusal if another resource uses the key
   */
  readonly claim: (generation: number) => Decision<S, E>;
  /**
   * Whether this generation is closed for good, so that the next one is tried. Must depend on the state only, so that a
   * repeated request finds the same generation.
   */
  readonly isClosed?: (state: S) => boolean;
  /** The tenant of the new resource's stream. By default, the context's tenant. */
  readonly tenantOf?: (id: string) => string;
};

/**
 * Creates a resource with a unique key. A single append creates it, checks that the key is free, and makes repeats
 * harmless, because the id is derived from the key. The first generation of the key that is not closed is used; `claim`
 * may close a generation.
 * @throws Refusal of `claim` if another resource uses the key
 */
export const createUnique = async <S, E extends DomainEvent>(
  ctx: Ctx,
  aggregate: Aggregate<S, E>,
  { kind, key, claim, isClosed = () => false, tenantOf = () => ctx.tenant }: UniqueKey<S, E>,
): Promise<Loaded<S>> => {
  for (let generation = 0; ; generation++) {
    const id = ctx.uniqueId(kind, key, generation);
    const loaded = await ctx.transact(aggregate, id, claim(generation), {
      expectNew: true,
      tenant: tenantOf(id),
      trustCacheWhen: isClosed,
    });
    if (!isClosed(loaded.state)) return loaded;
  }
};
