import { randomUUID } from 'node:crypto';
import type { ReactorCtx } from '../../commands/context.ts';
import { type Actor, PLATFORM } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { tenantOf, tenantToLoad } from '../aggregates/tenant-of-stream.ts';
import { createTransact, throwAsRefusal } from '../aggregates/transact.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';

const ANNALS: Actor = { kind: 'system', id: 'annals' };

/** Describes the events of a reactor. */
export type ReactorEvents = {
  /** By default, the platform itself. */
  readonly actor?: Actor;
  /** Returns the time of an event when the event is appended (RFC 3339 UTC). */
  readonly at: () => string;
  /**
   * Returns the seed of the ids of the events that are appended at the time `at`. By default, the seed is random: the
   * state of the stream must then refuse a repeat.
   */
  readonly seed?: (at: string) => string;
};

/** @throws Refusal not_found if the stream was deleted; all other errors unchanged, because logs show their details */
const throwErased = (error: unknown): never => {
  if (error instanceof LogError && error.kind === 'gone') return throwAsRefusal(error);
  throw error;
};

type State = { readonly tenant: string; readonly actor: Actor; readonly seed: (at: string) => string };

/**
 * Creates the context of a reactor, in the tenant PLATFORM. It has no subscription to the log and remembers what it has
 * read, so a reactor with a lot to read creates one for each run.
 */
export const reactorContext = (log: Log, { actor = ANNALS, at, seed = () => randomUUID() }: ReactorEvents): ReactorCtx => {
  const cache = openAggregateCache(log, []);
  const transact = createTransact(log, cache);
  const contextOf = (state: State): ReactorCtx => ({
    tenant: state.tenant,
    actor: state.actor,
    at,
    load: (aggregate, id, options) =>
      cache.refresh(aggregate, tenantToLoad(state.tenant, aggregate, id, options?.tenant), id).catch(throwErased),
    transact: (aggregate, id, decide, options = {}) => {
      const meta = { tenant: options.tenant ?? state.tenant, actor: state.actor, at: at(), v: 1 };
      const tenant = tenantOf(state.tenant, aggregate, options.tenant);
      return transact({ ...options, aggregate, tenant, id, decide, meta, seed: state.seed(meta.at) }).catch(throwErased);
    },
    inTenant: (tenant) => contextOf({ ...state, tenant }),
    withSeed: (fixed) => contextOf({ ...state, seed: () => fixed }),
    withActor: (other) => contextOf({ ...state, actor: other }),
  });
  return contextOf({ tenant: PLATFORM, actor, seed });
};

/** Ignores the refusal which means that the resource was erased. @throws any other error */
export const ignoreErased = (error: unknown): void => {
  if (!(error instanceof Refusal) || error.code !== 'not_found') throw error;
};
