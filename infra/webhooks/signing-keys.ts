import type { Secret } from '../../domain/secret.ts';
import { acceptsPreviousSecret, category, type Integration } from '../../domain/webhooks/integration.ts';
import { presetOf } from '../../domain/webhooks/provider.ts';
import type { SigningKeys } from '../../domain/webhooks/signature.ts';
import { createLruMap } from '../lru-map.ts';
import type { Vault } from '../vault/vault.ts';
import { toRetryLater } from './record-delivery.ts';

/** Opened secrets by the sealed text: a rotation makes another text, so that nothing has to be forgotten in time. */
type Opened = { readonly sealed: string; readonly sealedPrevious: string | null; readonly keys: SigningKeys };

/** The keys that verify an integration's deliveries, opened once and kept in memory. @throws Refusal unavailable, not_found */
export const signingKeys = (vault: Pick<Vault, 'open'>) => {
  const opened = createLruMap<string, Opened>({ capacity: 10_000 });

  const open = async (integration: Integration): Promise<Opened> => {
    const { id, tenant_id: tenant, provider, sealed_secret: sealed, sealed_previous_secret: sealedPrevious } = integration;
    const place = { tenant, category, id, field: 'secret' };
    const key = (secret: Secret) => presetOf(provider).scheme.key(secret.reveal());
    const [current, previous] = await Promise.all([
      vault.open(place, sealed),
      sealedPrevious === null ? null : vault.open(place, sealedPrevious),
    ]);
    const entry = { sealed, sealedPrevious, keys: { current: key(current), previous: previous && key(previous) } };
    opened.set(id, entry);
    return entry;
  };

  const valid = ({ keys }: Opened, integration: Integration, at: string): SigningKeys =>
    keys.previous === null || acceptsPreviousSecret(integration, at) ? keys : { current: keys.current, previous: null };

  return (integration: Integration, at: string): SigningKeys | Promise<SigningKeys> => {
    const known = opened.get(integration.id);
    const stands = known?.sealed === integration.sealed_secret && known.sealedPrevious === integration.sealed_previous_secret;
    return known && stands ? valid(known, integration, at) : open(integration).then((entry) => valid(entry, integration, at), toRetryLater);
  };
};
