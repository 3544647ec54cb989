import { identitySecret } from '../../commands/credentials/linked-identity.ts';
import { type IdentityRef, RENEWER, type RenewalPorts, renewOrRevoke } from '../../commands/credentials/renew-tokens.reactor.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import { identitiesDueAt, MAX_DUE_IDENTITIES } from '../../projections/credentials/linked-identity.queries.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import type { Log } from '../eventstore/event-log.ts';
import { openOnce } from '../open-once.ts';
import type { Vault } from '../vault/vault.ts';
import { startTimedReactor, type TimedReactorParts } from './timed-reactor.ts';

const INTERVAL_MS = 15_000;
const LOCK = 'reactor token renewal';
/** If the provider of an identity did not answer, the identity is tried again after this many milliseconds. */
const RETRY_MS = 60_000;

/** The parts that are needed to renew tokens. `services` is called when tokens are due for the first time. */
export type TokenRenewerParts = TimedReactorParts & {
  readonly log: Log;
  readonly services: () => Promise<{ readonly oauth: RenewalPorts['oauth']; readonly vault: Pick<Vault, 'open' | 'seal'> }>;
};

/** Creates the ports with which the reactor works. `now` returns the present time in milliseconds. */
export const renewalPorts = (
  log: Log,
  { oauth, vault }: Awaited<ReturnType<TokenRenewerParts['services']>>,
  now: () => number,
): RenewalPorts => {
  const cache = openAggregateCache(log, []);
  const transact = createTransact(log, cache);
  return {
    oauth,
    load: async ({ tenant_id, id }) => (await cache.refresh(LinkedIdentity, tenant_id, id)).state,
    open: ({ tenant_id, id }, sealed) => vault.open(identitySecret(tenant_id, id), sealed),
    seal: ({ tenant_id, id }, text) => vault.seal(identitySecret(tenant_id, id), text),
    transact: async ({ tenant_id, id }, decide) => {
      const at = new Date(now()).toISOString();
      const meta = { tenant: tenant_id, actor: RENEWER, at, v: 1 };
      await transact({ aggregate: LinkedIdentity, tenant: tenant_id, id, decide, meta, seed: `renewal ${at}` });
    },
  };
};

/**
 * Starts the reactor that renews the tokens of linked identities before they expire, and revokes those of unlinked
 * identities. Only one process does this at a time, because providers accept a refresh token only once.
 */
export const startTokenRenewer = ({ log, services, ...parts }: TokenRenewerParts) => {
  const { logger, now = Date.now } = parts;
  const failedAt = new Map<string, number>();
  const openPorts = openOnce(async () => renewalPorts(log, await services(), now));

  const handle = async (ports: RenewalPorts, ref: IdentityRef, at: string): Promise<void> => {
    if ((failedAt.get(ref.id) ?? Number.NEGATIVE_INFINITY) > now() - RETRY_MS) return;
    try {
      await renewOrRevoke(ports, ref, at);
      failedAt.delete(ref.id);
    } catch (error) {
      failedAt.set(ref.id, now());
      logger.warn({ identity: ref.id, reason: (error as Error).message }, 'tokens cannot be renewed or revoked now; trying again');
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
        const ports = await openPorts();
        for (const ref of due) await handle(ports, ref, at);
        return due.length === MAX_DUE_IDENTITIES;
      },
    },
    parts,
  );
};
