import type { Aggregate, Decision } from '../domain/aggregate.ts';
import type { DomainEvent } from '../domain/event.ts';
import type { Ctx, Loaded } from './context.ts';

/**
 * The unique key of a new resource, and how to create the resource. A generation is one use of the unique key: after
 * the resource of a generation is closed for good, the next generation can use the key.
 */
export type UniqueKey<S, E extends DomainEvent> = {
  readonly kind: string;
  readonly key: string;
  /**
   * Returns the decision that creates the resource in this generation of the unique key, or closes the generation.
   * @throws Refusal if another resource has the unique key
   */
  readonly claim: (generation: number) => Decision<S, E>;
  /**
   * Whether this generation is closed for good, so that the next one is tried. The result must depend only on the
   * state, so that a repeat of the request chooses the same generation.
   */
  readonly isClosed?: (state: S) => boolean;
  /** The tenant of the new resource's stream. By default, the context's tenant. */
  readonly tenantOf?: (id: string) => string;
};

/**
 * Creates a resource in the first generation of its unique key that is not closed. The id of the resource, and so its
 * stream, is derived from the unique key and the generation: one append checks that the key is free and creates the
 * resource, and a repeat creates no other one.
 * @throws Refusal of `claim` if another resource has the unique key
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
