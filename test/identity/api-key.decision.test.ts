import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { at, given, TENANT } from '../fixtures/given.ts';

const DIGEST = 'ab'.repeat(32);
const fields: ApiKey.ApiKeyFields = {
  name: 'CI',
  kind: 'tenant',
  digest: DIGEST,
  tenant_id: TENANT,
  agent_id: null,
  owner_id: 'cowner',
  expires_at: null,
  read_only: false,
  role: null,
};
const created = { type: 'ApiKeyCreated', data: fields } as const;
const revoked = { type: 'ApiKeyRevoked', data: {} } as const;
const used = { type: 'ApiKeyUsed', data: {} } as const;
const isInTenant = (key: ApiKey.ApiKey) => key.tenant_id === TENANT;
const later = (ms: number) => new Date(Date.parse(at(0)) + ms).toISOString();

test('creating an API key again emits no event', () => {
  given(ApiKey).when(ApiKey.create(fields)).emits(created);
  given(ApiKey, created).when(ApiKey.create(fields)).emits();
});

test('revoking an API key again emits no event', () => {
  given(ApiKey, created).when(ApiKey.revoke(isInTenant)).emits(revoked);
  given(ApiKey, created, revoked).when(ApiKey.revoke(isInTenant)).emits();
});

test('revoking an API key of another tenant or agent is refused with the same error as revoking a key that does not exist', () => {
  given(ApiKey)
    .when(ApiKey.revoke(() => true))
    .refuses('not_found');
  given(ApiKey, created)
    .when(ApiKey.revoke(() => false))
    .refuses('not_found');
});

test('creating a revoked API key again does not make it valid', () => {
  given(ApiKey, created, revoked).when(ApiKey.create(fields)).emits();
  assert.is(given(ApiKey, created, revoked).state.status, 'revoked');
});

test('the first use of an API key is recorded at once, and a later use only after an hour; uses of a revoked key are not recorded', () => {
  given(ApiKey, created)
    .when(ApiKey.recordUse(later(0)))
    .emits(used);
  given(ApiKey, created, used)
    .when(ApiKey.recordUse(later(1_000 + 3_599_999)))
    .emits();
  given(ApiKey, created, used)
    .when(ApiKey.recordUse(later(1_000 + 3_600_000)))
    .emits(used);
  given(ApiKey, created, revoked)
    .when(ApiKey.recordUse(later(7_200_000)))
    .emits();
  given(ApiKey)
    .when(ApiKey.recordUse(later(0)))
    .emits();
});

test('an API key is matched only by its full digest; if a key does not exist, no digest matches it, not even the placeholder', () => {
  const { state } = given(ApiKey, created);
  assert.ok(ApiKey.matches(state, DIGEST));
  assert.not(ApiKey.matches(state, `${DIGEST.slice(0, -2)}ac`));
  assert.not(ApiKey.matches(ApiKey.initial, ApiKey.initial.digest));
});

test.run();
