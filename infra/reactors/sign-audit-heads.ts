import { type SigningPorts, signHeads } from '../../commands/audit/sign-heads.reactor.ts';
import * as AuditHead from '../../domain/audit/audit-head.ts';
import * as LeafRule from '../../domain/audit/leaf-rule.ts';
import { MAX_SORT_KEY, positionOfSortKey } from '../../domain/event.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { type CheckedTenants, leavesBetween, tenantsWithUnsignedEntries } from '../../projections/audit/audit-head.queries.ts';
import type { Reads } from '../../projections/read-model.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { SignText } from '../audit/signing-key.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import { startTimedReactor, type TimedReactorParts } from './timed-reactor.ts';

const INTERVAL_MS = 10_000;
const LOCK = 'reactor audit heads';
const ACTOR = { kind: 'system', id: 'annals' } as const;

/** Creates the ports with which the reactor works. `at` is the time of the events that it appends (RFC 3339 UTC). */
export const signingPorts = (log: Log, reads: Pick<Reads, 'rows'>, sign: SignText, at: string): SigningPorts => {
  const cache = openAggregateCache(log, []);
  const transact = createTransact(log, cache);
  const metaOf = (tenant: string) => ({ tenant, actor: ACTOR, at, v: 1 });
  return {
    sign,
    load: async (tenant) => (await cache.load(AuditHead, tenant, tenant)).state,
    entriesAfter: async (tenant, position) => {
      const after = position === null ? '' : AuditHead.sortKeyOf(position);
      const entries = await leavesBetween(reads, tenant, after, MAX_SORT_KEY);
      // The rows of an erased tenant are removed in parts, but only after the log records the erasure. So if the log
      // does not record an erasure now, the rows that were read before are complete.
      const { state } = await cache.refresh(Tenant, tenant, tenant);
      if (state.erasure?.record) return [];
      return entries.map(({ leaf, place }) => ({ leaf, position: positionOfSortKey(place) }));
    },
    transact: async (tenant, size, decide) => {
      const meta = metaOf(tenant);
      const { state } = await transact({ aggregate: AuditHead, tenant, id: tenant, decide, meta, seed: `${size} ${at}` });
      return state;
    },
    changeLeafRule: async (tenant, last) => {
      const { state } = await cache.load(LeafRule, tenant, tenant);
      if (state.change) return false;
      const decide = LeafRule.changeLeafRule(last);
      await transact({ aggregate: LeafRule, tenant, id: tenant, decide, meta: metaOf(tenant), seed: 'leaf rule' });
      return true;
    },
  };
};

/**
 * Ignores errors which mean that a tenant was erased.
 * @throws any other error
 */
const ignoreErased = (error: unknown): number => {
  if (error instanceof LogError && error.kind === 'gone') return 0;
  throw error;
};

/**
 * `openKey` opens the newest signing key. It is called in each run of the reactor that signs, because the key may have
 * been replaced.
 */
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
        let sign: SignText | undefined;
        for (let after: string | null = ''; after !== null; ) {
          const { due, next }: CheckedTenants = await tenantsWithUnsignedEntries(reads, before, after);
          if (due.length > 0) sign ??= await openKey();
          for (const tenant of due) await signHeads(signingPorts(log, reads, sign!, at), tenant, at).catch(ignoreErased);
          after = next;
        }
        return false;
      },
    },
    parts,
  );
