import { type HeadSigning, signHeads } from '../../commands/audit/sign-heads.reactor.ts';
import * as AuditHead from '../../domain/audit/audit-head.ts';
import { MAX_SORT_KEY, positionOfSortKey } from '../../domain/event.ts';
import { type CheckedTenants, leavesBetween, tenantsWithUnsignedEntries } from '../../projections/audit/audit-head.queries.ts';
import type { Reads } from '../../projections/read-model.ts';
import { ignoreErased, reactorContext } from '../aggregates/reactor-context.ts';
import { type TimerServices, timedRuns } from '../reactors/timed.ts';
import type { Vault } from '../vault/vault.ts';
import type { SignText } from './signing-key.ts';

export const headSigning = (reads: Pick<Reads, 'rows'>, sign: SignText): HeadSigning => ({
  sign,
  entriesAfter: async (tenant, position) => {
    const after = position === null ? '' : AuditHead.sortKeyOf(position);
    const entries = await leavesBetween(reads, tenant, after, MAX_SORT_KEY);
    return entries.map(({ leaf, place }) => ({ leaf, position: positionOfSortKey(place) }));
  },
});

type Services = TimerServices & { readonly vault: { readonly open: () => Promise<Vault> } };

/** The newest key, which may have been replaced since the last run. The modules are loaded only when the first head must be signed. */
const openKey = async ({ log, vault }: Services): Promise<SignText> => {
  const { openSigningKey } = await import('./signing-key.ts');
  return openSigningKey({ log, vault: await vault.open() });
};

/**
 * Signs audit heads (the signed hash of all entries of an audit log so far) of tenants with entries that no head covers, if there are 1,000
 * of them, or if one of them is five minutes old.
 */
export const headSignatures = timedRuns({
  lock: 'reactor audit heads',
  everyMs: 10_000,
  failure: 'audit heads cannot be signed now; trying again',
  open: (services: Services) => ({
    run: async (reads, at) => {
      const before = new Date(Date.parse(at) - AuditHead.HEAD_INTERVAL_MS).toISOString();
      const ctx = reactorContext(services.log, { at });
      let sign: SignText | undefined;
      for (let after: string | null = ''; after !== null; ) {
        const { due, next }: CheckedTenants = await tenantsWithUnsignedEntries(reads, before, after);
        if (due.length > 0) sign ??= await openKey(services);
        for (const tenant of due) await signHeads(ctx.inTenant(tenant), headSigning(reads, sign!)).catch(ignoreErased);
        after = next;
      }
      return false;
    },
  }),
});
