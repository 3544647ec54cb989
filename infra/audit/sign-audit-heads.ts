import { type HeadSigning, signHeads } from '../../commands/audit/sign-heads.reactor.ts';
import * as AuditHead from '../../domain/audit/audit-head.ts';
import { MAX_SORT_KEY, positionOfSortKey } from '../../domain/event.ts';
import { type CheckedTenants, leavesBetween, tenantsWithUnsignedEntries } from '../../projections/audit/audit-head.queries.ts';
import type { Reads } from '../../projections/read-model.ts';
import { ignoreErased, reactorContext } from '../aggregates/reactor-context.ts';
import type { Log } from '../eventstore/event-log.ts';
import { startTimedReactor, type TimedReactorParts } from '../reactors/timed-reactor.ts';
import type { SignText } from './signing-key.ts';

const INTERVAL_MS = 10_000;
const LOCK = 'reactor audit heads';

export const headSigning = (reads: Pick<Reads, 'rows'>, sign: SignText): HeadSigning => ({
  sign,
  entriesAfter: async (tenant, position) => {
    const after = position === null ? '' : AuditHead.sortKeyOf(position);
    const entries = await leavesBetween(reads, tenant, after, MAX_SORT_KEY);
    return entries.map(({ leaf, place }) => ({ leaf, position: positionOfSortKey(place) }));
  },
});

/** `openKey` opens the newest signing key, in each run that signs, because the key may have been replaced. */
type Parts = TimedReactorParts & { readonly log: Log; readonly openKey: () => Promise<SignText> };

/**
 * Starts the reactor that signs audit heads (the signed hash of all entries of an audit log so far). Every ten seconds,
 * it looks for tenants with entries that no head covers, and signs a head if there are 1,000 of them, or if one of them
 * is five minutes old.
 */
export const startHeadSigner = ({ log, openKey, ...parts }: Parts) =>
  startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'audit heads cannot be signed now; trying again',
      run: async (reads, at) => {
        const before = new Date(Date.parse(at) - AuditHead.HEAD_INTERVAL_MS).toISOString();
        const ctx = reactorContext(log, { at });
        let sign: SignText | undefined;
        for (let after: string | null = ''; after !== null; ) {
          const { due, next }: CheckedTenants = await tenantsWithUnsignedEntries(reads, before, after);
          if (due.length > 0) sign ??= await openKey();
          for (const tenant of due) await signHeads(ctx.inTenant(tenant), headSigning(reads, sign!)).catch(ignoreErased);
          after = next;
        }
        return false;
      },
    },
    parts,
  );
