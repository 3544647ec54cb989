import { type Aggregate, fold } from '../domain/aggregate.ts';
import type { DomainEvent } from '../domain/event.ts';
import type { Ctx } from './context.ts';

/** Reads up to the end of the log: the cached state can lack the last events. @throws Refusal unavailable */
export const newestState = async <S, E extends DomainEvent>(ctx: Ctx, aggregate: Aggregate<S, E>, id: string): Promise<S> => {
  const { state, revision } = await ctx.load(aggregate, id);
  return fold(aggregate, await Array.fromAsync(ctx.log.history(aggregate, id, { from: revision + 1 })), state);
};
