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
};
const created = { type: 'ApiKeyCreated', data: fields } as const;
const revoked = { type: 'ApiKeyRevoked', data: {} } as const;
const used = { type: 'ApiKeyUsed', data: {} } as const;
const ours = (key: ApiKey.ApiKey) => key.tenant_id === TENANT;
const later = (ms: number) => new Date(Date.parse(at(0)) + ms).toISOString();

test('a key is made once', () => {
  given(ApiKey).when(ApiKey.create(fields)).emits(created);
  given(ApiKey, created).when(ApiKey.create(fields)).emits();
});

test('a key is revoked once', () => {
  given(ApiKey, created).when(ApiKey.revoke(ours)).emits(revoked);
  given(ApiKey, created, revoked).when(ApiKey.revoke(ours)).emits();
});

test('a foreign key is refused as one that is not there', () => {
  given(ApiKey)
    .when(ApiKey.revoke(() => true))
    .refuses('not_found');
  given(ApiKey, created)
    .when(ApiKey.revoke(() => false))
    .refuses('not_found');
});

test('a revoked key does not come back by being made again', () => {
  given(ApiKey, created, revoked).when(ApiKey.create(fields)).emits();
  assert.is(given(ApiKey, created, revoked).state.status, 'revoked');
});

test('the first use is noted at once, the next one an hour later, none of a revoked key', () => {
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

test('only the whole digest matches, and an absent key matches nothing, not even the dummy', () => {
  const { state } = given(ApiKey, created);
  assert.ok(ApiKey.matches(state, DIGEST));
  assert.not(ApiKey.matches(state, `${DIGEST.slice(0, -2)}ac`));
  assert.not(ApiKey.matches(ApiKey.initial, ApiKey.initial.digest));
});

test.run();
