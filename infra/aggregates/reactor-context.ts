import { randomUUID } from 'node:crypto';
import type { ReactorCtx } from '../../commands/context.ts';
import { type Actor, PLATFORM } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import { openAggregateCache } from './aggregate-cache.ts';
import { tenantOf, tenantToLoad } from './tenant-of-stream.ts';
import { createTransact, throwAsRefusal } from './transact.ts';

const ANNALS: Actor = { kind: 'system', id: 'annals' };

export type ReactorEvents = {
  /** By default, the platform itself. */
  readonly actor?: Actor;
  /** RFC 3339 UTC. By default, each event gets the time at which it is appended. */
  readonly at?: string;
  /** In milliseconds. */
  readonly now?: () => number;
  /**
   * The seed of the ids of the events, or a function that returns it for the time of an append; by default, a random text.
   * If it is random, or holds a time, the state of the stream must refuse a repeat.
   */
  readonly seed?: string | ((at: string) => string);
};

/** @throws Refusal not_found if the stream was deleted; all other errors unchanged, because logs show their details */
const throwErased = (error: unknown): never => {
  if (error instanceof LogError && error.kind === 'gone') return throwAsRefusal(error);
  throw error;
};

type State = { readonly tenant: string; readonly actor: Actor; readonly seed: string | ((at: string) => string) };

/** Works in the tenant PLATFORM, without a subscription. It remembers what it has read: create one for each run that reads a lot. */
export const reactorContext = (log: Log, events: ReactorEvents = {}): ReactorCtx => {
  const { at: fixedTime, now = Date.now } = events;
  const at = (): string => fixedTime ?? new Date(now()).toISOString();
  const cache = openAggregateCache(log, []);
  const runTransaction = createTransact(log, cache);
  const contextOf = (state: State): ReactorCtx => ({
    tenant: state.tenant,
    actor: state.actor,
    at,
    load: (aggregate, id, options) =>
      cache.refresh(aggregate, tenantToLoad(state.tenant, aggregate, id, options?.tenant), id).catch(throwErased),
    transact: (aggregate, id, decide, options = {}) => {
      const { actor, seed } = state;
      const meta = { tenant: options.tenant ?? state.tenant, actor, at: at(), v: 1 };
      const tenant = tenantOf(state.tenant, aggregate, options.tenant);
      const seedText = typeof seed === 'string' ? seed : seed(meta.at);
      return runTransaction({ ...options, aggregate, tenant, id, decide, meta, seed: seedText }).catch(throwErased);
    },
    inTenant: (tenant) => contextOf({ ...state, tenant }),
    withSeed: (seed) => contextOf({ ...state, seed }),
    withActor: (actor) => contextOf({ ...state, actor }),
  });
  return contextOf({ tenant: PLATFORM, actor: events.actor ?? ANNALS, seed: events.seed ?? (() => randomUUID()) });
};

/** Ignores the refusal which means that the resource was erased. @throws any other error */
export const ignoreErased = (error: unknown): void => {
  if (!(error instanceof Refusal) || error.code !== 'not_found') throw error;
};
