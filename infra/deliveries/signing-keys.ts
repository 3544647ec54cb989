import { acceptsPreviousSecret, category, type Integration } from '../../domain/integrations/integration.ts';
import { presetOf } from '../../domain/integrations/provider-preset.ts';
import type { SigningKeys } from '../../domain/integrations/signature.ts';
import type { Secret } from '../../domain/secret.ts';
import { createLruMap } from '../lru-map.ts';
import type { Vault } from '../vault/vault.ts';
import { toRetryLater } from './delivery-appends.ts';

const MAX_CACHED = 10_000;

/** Outdated if the integration has other encrypted texts now than those that the keys were decrypted from. */
type CachedKeys = { readonly sealed: string; readonly sealedPrevious: string | null; readonly keys: SigningKeys };

/**
 * These keys verify the deliveries of an integration. They are decrypted once, and cached until a tenant is erased.
 * @throws (the function) Refusal unavailable, not_found
 */
export const createSigningKeys = (vault: Pick<Vault, 'open' | 'onErased'>) => {
  const cache = createLruMap<string, CachedKeys>({ capacity: MAX_CACHED });
  vault.onErased(cache.clear);

  const decrypt = async (integration: Integration): Promise<CachedKeys> => {
    const { id, tenant_id: tenant, sealed_secret: sealed, sealed_previous_secret: sealedPrevious } = integration;
    const location = { tenant, category, id, field: 'secret' };
    const key = (secret: Secret) => presetOf(integration).scheme.key(secret.reveal());
    const [current, previous] = await Promise.all([
      vault.open(location, sealed),
      sealedPrevious === null ? null : vault.open(location, sealedPrevious),
    ]);
    const entry = { sealed, sealedPrevious, keys: { current: key(current), previous: previous && key(previous) } };
    cache.set(id, entry);
    return entry;
  };

  const validKeys = ({ keys }: CachedKeys, integration: Integration, at: string): SigningKeys =>
    keys.previous === null || acceptsPreviousSecret(integration, at) ? keys : { current: keys.current, previous: null };

  return (integration: Integration, at: string): SigningKeys | Promise<SigningKeys> => {
    const cached = cache.get(integration.id);
    const isCurrent = cached?.sealed === integration.sealed_secret && cached.sealedPrevious === integration.sealed_previous_secret;
    if (cached && isCurrent) return validKeys(cached, integration, at);
    return decrypt(integration).then((entry) => validKeys(entry, integration, at), toRetryLater);
  };
};
