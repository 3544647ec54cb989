import type { SchedulerPorts } from '../../commands/schedule/scheduler.reactor.ts';
import * as Agent from '../../domain/agents/agent.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import type { AggregateCache } from '../aggregates/aggregate-cache.ts';

/** The maximum number of items that are handled at the same time. */
const CONCURRENCY = 64;

/** Calls `work` for all items, at most CONCURRENCY at a time. */
export const forEachConcurrently = async <T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> => {
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < items.length) await work(items[next++]!);
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, run));
};

/** Returns a function that calls `find` only once for each key. */
export const memoized = <T>(find: (...key: [string, string?]) => Promise<T>): ((...key: [string, string?]) => Promise<T>) => {
  const found = new Map<string, Promise<T>>();
  return (...key) => {
    const name = key.join('\0');
    const known = found.get(name) ?? find(...key);
    found.set(name, known);
    return known;
  };
};

/**
 * Returns the function that finds the reason why no job of an agent fires, if there is one. It loads each tenant and
 * each agent only once.
 */
export const findInactiveReason = (cache: Pick<AggregateCache, 'load'>): SchedulerPorts['inactiveReason'] => {
  const tenantIsActive = memoized(async (id) => (await cache.load(Tenant, id, id)).state.status === 'active');
  const agentIsActive = memoized(async (tenant, id) => {
    const { state } = await cache.load(Agent, tenant, id!);
    return state.status === 'live' && state.is_active;
  });
  return async (tenant_id, agent_id) => {
    if (!(await tenantIsActive(tenant_id))) return 'tenant_suspended';
    return (await agentIsActive(tenant_id, agent_id)) ? null : 'agent_inactive';
  };
};
