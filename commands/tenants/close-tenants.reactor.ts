import type { Decision } from '../../domain/aggregate.ts';
import type { Actor } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';

/** The actor and the time of the events that close a tenant. The ids of these events are derived from `seed`. */
export type ClosingOptions = { readonly actor: Actor; readonly at: string; readonly seed: string };

/**
 * Loads a tenant, calls `decide` with its state, and appends the events at the loaded revision.
 * @throws Refusal not_found if the stream of the tenant was deleted
 */
export type TransactTenant = (
  tenantId: string,
  decide: Decision<Tenant.Tenant, Tenant.TenantEvent>,
  options: ClosingOptions,
) => Promise<unknown>;

const ACTOR: Actor = { kind: 'system', id: 'annals' };
const SEED = 'closed';

const ignoreErased = (error: unknown): void => {
  if (!(error instanceof Refusal) || error.code !== 'not_found') throw error;
};

/**
 * Closes those tenants for good whose waiting period has ended at `at` (RFC 3339 UTC). The read model that names the
 * tenants may be outdated, so the events of each tenant are read. So no tenant is closed twice or too early, even if
 * there are two processes or a crash.
 */
export const closeDueTenants = async (transact: TransactTenant, tenantIds: readonly string[], at: string): Promise<void> => {
  for (const id of tenantIds) await transact(id, Tenant.closeForGood(at), { actor: ACTOR, at, seed: SEED }).catch(ignoreErased);
};
