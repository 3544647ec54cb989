import type { Aggregate, Decision } from '../domain/aggregate.ts';
import type { DomainEvent } from '../domain/event.ts';
import type { Ctx, Loaded } from './context.ts';

export type UniqueKey<S, E extends DomainEvent> = {
  readonly kind: string;
  readonly key: string;
  /** What a generation of the key says to a newcomer. @throws Refusal where a living one holds it */
  readonly claim: (generation: number) => Decision<S, E>;
  /** This generation is over for good: the next one is asked. Told by the state alone, as a repeated request finds it too. */
  readonly isClosed?: (state: S) => boolean;
  readonly tenantOf?: (id: string) => string;
};

/**
 * Creates what has a natural key: one append is creation, uniqueness and dedup at once. The first generation of the key that is not
 * closed wins; a claim may close the one it meets.
 * @throws Refusal whatever `claim` throws where a living one holds the key
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
