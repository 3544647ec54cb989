import type { Aggregate, Decision } from '../domain/aggregate.ts';
import type { DomainEvent } from '../domain/event.ts';
import type { Ctx, Loaded } from './context.ts';

/** The unique key of a new resource, and how a generation of the key is used. */
export type UniqueKey<S, E extends DomainEvent> = {
  readonly kind: string;
  readonly key: string;
  /** Decides on this generation of the key for a new resource. @throws Refusal if a resource uses the key */
  readonly claim: (generation: number) => Decision<S, E>;
  /**
   * Whether this generation is closed for good, so that the next one is tried. Depends on the state only: repeats
   * agree.
   */
  readonly isClosed?: (state: S) => boolean;
  /** The tenant of the new resource's stream; by default the context's. */
  readonly tenantOf?: (id: string) => string;
};

/**
 * Creates a resource with a unique key. One append is creation, uniqueness check and deduplication. It uses the first
 * generation of the key that is not closed; `claim` may close a generation.
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
