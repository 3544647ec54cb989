import type { Aggregate } from '../domain/aggregate.ts';
import type { DomainEvent } from '../domain/event.ts';
import type { Ctx, Loaded } from './context.ts';

/** What the stream of one generation of a natural key says to a newcomer. */
export type Claim<E extends DomainEvent> =
  | { readonly events: readonly E[]; readonly taken?: false }
  | { readonly events: readonly E[]; readonly taken: 'next' };

/**
 * Creates what has a natural key: one append is creation, uniqueness and dedup at once. `claim` decides for each generation of the key,
 * the first one that is free wins; `next` closes a generation that was deleted and goes on to the one behind it.
 * @throws Refusal whatever `claim` throws where a living one holds the key
 */
export const createNatural = async <S, E extends DomainEvent>(
  ctx: Ctx,
  aggregate: Aggregate<S, E>,
  kind: string,
  key: string,
  claim: (state: S, generation: number) => Claim<E>,
  tenantOf: (id: string) => string = () => ctx.tenant,
): Promise<Loaded<S>> => {
  for (let generation = 0; ; generation++) {
    const id = ctx.naturalId(kind, key, generation);
    let taken = false;
    const loaded = await ctx.transact(
      aggregate,
      id,
      (state) => {
        const claimed = claim(state, generation);
        taken = claimed.taken === 'next';
        return claimed.events;
      },
      { fresh: true, tenant: tenantOf(id) },
    );
    if (!taken) return loaded;
  }
};
