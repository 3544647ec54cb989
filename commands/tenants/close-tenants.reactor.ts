import type { Decision } from '../../domain/aggregate.ts';
import type { Actor } from '../../domain/event.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';

/** Who closes a tenant, and when. The ids of the events derive from `seed`. */
export type ClosingOptions = { readonly actor: Actor; readonly at: string; readonly seed: string };

/**
 * Loads a tenant, decides, and appends at the revision that was read. @throws Refusal not_found if its stream was
 * deleted
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
 * Closes those of the tenants for good whose waiting period is over at `at` (RFC 3339 UTC). The caller's list is only a
 * hint: each tenant's own events decide, so a second process, a crash or a stale read model closes none twice and none
 * too early.
 */
export const closeDueTenants = async (transact: TransactTenant, tenantIds: readonly string[], at: string): Promise<void> => {
  for (const id of tenantIds) await transact(id, Tenant.closeForGood(at), { actor: ACTOR, at, seed: SEED }).catch(ignoreErased);
};
