import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Refusal } from '../../domain/refusal.ts';
import { createSigningKeys } from '../../infra/deliveries/signing-keys.ts';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

test('the signing keys of an integration are decrypted once and kept in memory; when the tenant is erased, they are removed from memory', async () => {
  const given = await createWebhookPlatform();
  let decrypted = 0;
  const open: typeof given.vault.open = (location, sealed) => {
    decrypted++;
    return given.vault.open(location, sealed);
  };
  const signingKeys = createSigningKeys({ open, onErased: given.vault.onErased });
  const integration = (await given.ports.eligibility.integration(given.hook))!;
  const at = new Date().toISOString();
  const { current } = await signingKeys(integration, at);
  assert.is((await signingKeys(integration, at)).current, current);
  assert.is(decrypted, 1);
  await given.vault.destroyDataKeys(given.tenant_id);
  const refused = await Promise.resolve(signingKeys(integration, at)).then(
    () => null,
    (error: unknown) => error,
  );
  assert.ok(refused instanceof Refusal && refused.code === 'not_found', String(refused));
  await given.close();
});

test.run();
