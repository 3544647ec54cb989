import { renewOrRevoke, type TokenClients } from '../../commands/credentials/renew-tokens.reactor.ts';
import { identitiesDueAt, MAX_DUE_IDENTITIES } from '../../projections/credentials/linked-identity.queries.ts';
import { type TimerServices, timed } from '../reactors/timed.ts';
import type { Vault } from '../vault/vault.ts';

/** If the provider of an identity did not answer, the identity is tried again after this many milliseconds. */
const RETRY_MS = 60_000;

type Services = TimerServices & {
  readonly oauth: () => Promise<TokenClients>;
  readonly vault: { readonly open: () => Promise<Pick<Vault, 'open' | 'seal'>> };
};

/** Tokens are renewed before they expire, and revoked if the identity was unlinked. A refresh token works only once. */
export const renewals = timed({
  lock: 'reactor token renewal',
  everyMs: 15_000,
  failure: 'tokens cannot be renewed now; trying again',
  seed: (at) => `renewal ${at}`,
  eventTime: 'append',
  due: identitiesDueAt,
  max: MAX_DUE_IDENTITIES,
  open: async ({ oauth, vault }: Services) => ({ vault: await vault.open(), oauth: await oauth(), failedAt: new Map<string, number>() }),
  handle: async (ctx, { tenant_id, id }, { oauth, vault: { open, seal }, failedAt }) => {
    const at = ctx.at();
    if ((failedAt.get(id) ?? Number.NEGATIVE_INFINITY) > Date.parse(at) - RETRY_MS) return;
    failedAt.set(id, Date.parse(at));
    await renewOrRevoke({ ...ctx.inTenant(tenant_id), secrets: { open, seal } }, oauth, id, at);
    failedAt.delete(id);
  },
  failed: (logger, { id }, reason) => logger.warn({ identity: id, reason }, 'tokens cannot be renewed or revoked now; trying again'),
});
