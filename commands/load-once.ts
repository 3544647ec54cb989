import type { Ctx, Loaded } from './context.ts';

/** Returns a `load` that loads each aggregate once, for a list in which agents and users occur several times. */
export const loadOnce = (ctx: Pick<Ctx, 'load'>): Ctx['load'] => {
  const loading = new Map<string, Promise<Loaded<unknown>>>();
  return (aggregate, id, options) => {
    const key = `${aggregate.category} ${id}`;
    const running = loading.get(key) ?? ctx.load(aggregate, id, options);
    loading.set(key, running);
    return running as Promise<Loaded<never>>;
  };
};
