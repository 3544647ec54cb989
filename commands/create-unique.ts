import type { Aggregate, Decision } from '../domain/aggregate.ts';
import type { DomainEvent } from '../domain/event.ts';
import type { Ctx, Loaded } from './context.ts';

/** A generation is one use of the unique key: after its resource is closed for good, the next generation can use the key. */
export type UniqueKey<S, E extends DomainEvent> = {
  readonly kind: string;
  readonly key: string;
  /** The decision creates the resource in this generation, or closes the generation. @throws Refusal if the unique key is taken */
  readonly claim: (generation: number) => Decision<S, E>;
  /** If true, the next generation is tried. Must depend only on the state, so that a repeat chooses the same generation. */
  readonly isClosed?: (state: S) => boolean;
  /** By default, the context's tenant. */
  readonly tenantOf?: (id: string) => string;
};

/**
 * Creates the resource in the first generation that is not closed. Id and stream are derived from key and generation: one append checks
 * that the key is free and creates the resource, and a repeat creates no other one.
 * @throws Refusal of `claim` if another resource has the unique key
 */
export const createUnique = async <S, E extends DomainEvent>(
  ctx: Ctx,
  aggregate: Aggregate<S, E>,
  { kind, key, claim, isClosed = () => false, tenantOf = () => ctx.tenant }: UniqueKey<S, E>,
): Promise<Loaded<S>> => {
  for (let generation = 0; ; generation++) {
    const id = ctx.secrets.uniqueId(kind, key, generation);
    const loaded = await ctx.transact(aggregate, id, claim(generation), {
      expectNew: true,
      tenant: tenantOf(id),
      trustCacheWhen: isClosed,
    });
    if (!isClosed(loaded.state)) return loaded;
  }
};
