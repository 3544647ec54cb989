import { renewOrRevoke, type TokenClients } from '../../commands/credentials/renew-tokens.reactor.ts';
import { identitiesDueAt, MAX_DUE_IDENTITIES } from '../../projections/credentials/linked-identity.queries.ts';
import { reactorContext } from '../aggregates/reactor-context.ts';
import type { Log } from '../eventstore/event-log.ts';
import { openOnce } from '../open-once.ts';
import { startTimedReactor, type TimedReactorParts } from '../reactors/timed-reactor.ts';
import type { Vault } from '../vault/vault.ts';

const INTERVAL_MS = 15_000;
const LOCK = 'reactor token renewal';
/** If the provider of an identity did not answer, the identity is tried again after this many milliseconds. */
const RETRY_MS = 60_000;

/** `services` is called when tokens are due for the first time. */
export type TokenRenewerParts = TimedReactorParts & {
  readonly log: Log;
  readonly services: () => Promise<{ readonly oauth: TokenClients; readonly vault: Pick<Vault, 'open' | 'seal'> }>;
};

/** `now` returns milliseconds. */
export const renewalContexts = (log: Log, { open, seal }: Pick<Vault, 'open' | 'seal'>, now: () => number) => {
  const ctx = reactorContext(log, { now, seed: (at) => `renewal ${at}` });
  return (tenant: string) => ({ ...ctx.inTenant(tenant), secrets: { open, seal } });
};

/**
 * Renews tokens of linked identities before they expire, and revokes unlinked ones. One process at a time: a refresh token works only once.
 */
export const startTokenRenewer = ({ log, services, ...parts }: TokenRenewerParts) => {
  const { logger, now = Date.now } = parts;
  const failedAt = new Map<string, number>();
  const openServices = openOnce(services);

  const handle = async (id: string, renew: () => Promise<void>): Promise<void> => {
    if ((failedAt.get(id) ?? Number.NEGATIVE_INFINITY) > now() - RETRY_MS) return;
    try {
      await renew();
      failedAt.delete(id);
    } catch (error) {
      failedAt.set(id, now());
      logger.warn({ identity: id, reason: (error as Error).message }, 'tokens cannot be renewed or revoked now; trying again');
    }
  };

  return startTimedReactor(
    {
      lock: LOCK,
      intervalMs: INTERVAL_MS,
      failure: 'tokens cannot be renewed now; trying again',
      run: async (reads, at) => {
        const due = await identitiesDueAt(reads, at);
        if (due.length === 0) return false;
        const { oauth, vault } = await openServices();
        const contextOf = renewalContexts(log, vault, now);
        for (const { tenant_id, id } of due) await handle(id, () => renewOrRevoke(contextOf(tenant_id), oauth, id, at));
        return due.length === MAX_DUE_IDENTITIES;
      },
    },
    parts,
  );
};
