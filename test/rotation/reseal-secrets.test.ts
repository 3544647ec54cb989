import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Agent from '../../domain/agents/agent.ts';
import { type Aggregate, fold } from '../../domain/aggregate.ts';
import * as AuditKey from '../../domain/audit/audit-key.ts';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import type { DomainEvent, Recorded } from '../../domain/event.ts';
import * as Integration from '../../domain/integrations/integration.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import { secret } from '../../domain/secret.ts';
import { openAggregateCache } from '../../infra/aggregates/aggregate-cache.ts';
import { openSigningKey } from '../../infra/audit/signing-key.ts';
import { openRotationRecord } from '../../infra/rotation/rotation-record.ts';
import { kidOf } from '../../infra/vault/cipher.ts';
import { actor, givenDataKey, TENANT } from '../fixtures/data-key-rotation.ts';

const CURRENT = {
  integration: 'hook secret',
  previous: 'older hook secret',
  database: 'password',
  config: '{"token":"t"}',
  headers: '{"x":"y"}',
};

/**
 * Stores one credential of each kind. The returned `values` decrypts the credentials as the requests that use them
 * would.
 */
const withCredentials = async (p: Awaited<ReturnType<typeof givenDataKey>>) => {
  const { log, vault } = p;
  const at = '2026-11-23T10:00:00.000Z';
  const meta = { tenant: TENANT, actor, at, v: 1 };
  const append = (stream: string, ...events: { type: string; data: object }[]) =>
    log.append(
      stream,
      'none',
      events.map((event) => ({ id: randomUUID(), ...event, meta })),
    );
  const sealed = (category: string, id: string, field: string, text: string) =>
    vault.seal({ tenant: TENANT, category, id, field }, secret(text));
  const seal = { hook: (text: string) => sealed('integration', 'i1', 'secret', text) };
  await append(
    'integration-platform.i1',
    { type: 'IntegrationConnected', data: { tenant_id: TENANT, provider: 'github', sealed_secret: await seal.hook(CURRENT.previous) } },
    {
      type: 'IntegrationSecretRotated',
      data: {
        sealed_secret: await seal.hook(CURRENT.integration),
        secret_hint: '…cret',
        previous_secret_valid_until: '2999-01-01T00:00:00.000Z',
      },
    },
  );
  const password = await sealed('linkedidentity', 'l1', 'secret', CURRENT.database);
  await append('linkedidentity-acme.l1', {
    type: 'DatabaseCredentialStored',
    data: { provider: 'db:postgres:h', label: 'l', sealed_password: password },
  });
  const config = await sealed('agent', 'a1', 'skill_config.s1', CURRENT.config);
  await append(
    'agent-acme.a1',
    { type: 'AgentCreated', data: { name: 'A', slug: 'a', owner_id: 'u' } },
    { type: 'AgentSkillGranted', data: { skill_id: 's1', is_enabled: true } },
    { type: 'AgentSkillConfigReplaced', data: { skill_id: 's1', sealed_config: config } },
  );
  const headers = await sealed(CronJob.category, 'c1', 'headers', CURRENT.headers);
  await append(`${CronJob.category}-acme.c1`, {
    type: 'CronJobCreated',
    data: { agent_id: 'a1', sealed_headers: headers, next_fire_at: null },
  });
  await openSigningKey({ log, vault });

  const load = async <S, E extends DomainEvent>(aggregate: Aggregate<S, E>, tenant: string, id: string): Promise<S> =>
    (await openAggregateCache(log, []).load(aggregate, tenant, id)).state;
  /** Returns the encrypted values of the present credentials, read from their streams. */
  const texts = async () => {
    const integration = await load(Integration, 'platform', 'i1');
    const revision = (await load(Agent, TENANT, 'a1')).skills.s1!.config!.revision;
    const [event] = await Array.fromAsync(log.read('agent-acme.a1', { from: revision, limit: 1 }));
    return {
      integration: integration.sealed_secret,
      previous: integration.sealed_previous_secret!,
      database: (await load(LinkedIdentity, TENANT, 'l1')).sealed!,
      config: (event!.data as { sealed_config: string }).sealed_config,
      headers: (await load(CronJob, TENANT, 'c1')).sealed_headers!,
    };
  };
  const values = async () => {
    const { integration, previous, database, config: configText, headers: headerText } = await texts();
    const open = async (category: string, id: string, field: string, text: string) =>
      (await vault.open({ tenant: TENANT, category, id, field }, text)).reveal();
    return {
      integration: await open('integration', 'i1', 'secret', integration),
      previous: await open('integration', 'i1', 'secret', previous),
      database: await open('linkedidentity', 'l1', 'secret', database),
      config: await open('agent', 'a1', 'skill_config.s1', configText),
      headers: await open(CronJob.category, 'c1', 'headers', headerText),
    };
  };
  return { ...p, texts, values };
};

test('after a key rotation, the current credentials of every kind are encrypted with the new data key, and their values are unchanged', async () => {
  const p = await withCredentials(await givenDataKey());
  assert.equal(await p.values(), CURRENT);
  const { kid, secrets } = await p.rotate();
  assert.is(secrets, 5);
  for (const [name, text] of Object.entries(await p.texts())) assert.is(kidOf(text), kid, name);
  assert.equal(await p.values(), CURRENT);
  const types = p.log.events.map(({ type }) => type).filter((type) => type.endsWith('Resealed'));
  assert.equal(types.sort(), ['AgentSkillConfigResealed', 'CronJobHeadersResealed', 'IdentityResealed', 'IntegrationSecretResealed']);
  assert.is((await p.rotate({}, 'other')).secrets, 0);
});

test('rotating the data key of the platform encrypts the keys again that sign audit heads; signatures with these keys stay the same', async () => {
  const p = await withCredentials(await givenDataKey());
  const before = (await openSigningKey(p))('text');
  const { kid, secrets } = await p.rotate({}, 'platform');
  assert.is(secrets, 1);
  const state = fold(AuditKey, (await Array.fromAsync(p.log.read('auditkey-platform.signing'))) as Recorded<AuditKey.AuditKeyEvent>[]);
  assert.is(kidOf(state.keys[0]!.sealed_private_key), kid);
  assert.equal((await openSigningKey(p))('text'), before);
});

test('if a request replaces a credential while a key rotation encrypts the credential again, the new value stays', async () => {
  const p = await withCredentials(await givenDataKey());
  const stored = { provider: 'db:postgres:h', label: 'l', sealed_password: '' };
  const meta = { tenant: TENANT, actor, at: '2026-11-23T10:00:00.000Z', v: 1 };
  const read = p.log.read;
  let isReplaced = false;
  /** A log in which the password is replaced just after the rotation has read it. */
  const log: typeof p.log = {
    ...p.log,
    read: async function* (stream, options) {
      yield* read(stream, options);
      if (stream !== 'linkedidentity-acme.l1' || isReplaced) return;
      isReplaced = true;
      const sealed_password = await p.vault.seal(
        { tenant: TENANT, category: 'linkedidentity', id: 'l1', field: 'secret' },
        secret('newer'),
      );
      await p.log.append(stream, 0, [{ id: randomUUID(), type: 'DatabaseCredentialStored', data: { ...stored, sealed_password }, meta }]);
    },
  };
  await p.rotate({ record: openRotationRecord(log) });
  assert.ok(isReplaced);
  assert.equal(await p.values(), { ...CURRENT, database: 'newer' });
});

test('a key rotation reports a damaged credential and does not change it', async () => {
  const p = await withCredentials(await givenDataKey());
  const meta = { tenant: TENANT, actor, at: '2026-11-23T10:00:00.000Z', v: 1 };
  const damaged = (await p.texts()).database.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A'));
  const data = { provider: 'p', label: 'l', sealed_password: damaged };
  await p.log.append('linkedidentity-acme.l2', 'none', [{ id: randomUUID(), type: 'DatabaseCredentialStored', data, meta }]);
  const lines: string[] = [];
  assert.is((await p.rotate({ onProgress: (line) => lines.push(line) })).secrets, 5);
  assert.equal(lines, ['left as it is: the field secret of the linkedidentity l2 is damaged']);
});

test('if the tenant is erased while a key rotation encrypts its credentials again, the rotation ends without a result', async () => {
  const p = await withCredentials(await givenDataKey());
  const onStep = async (step: string): Promise<void> => {
    if (step !== 'encrypt a secret again') return;
    for (const stream of ['linkedidentity-acme.l1', 'agent-acme.a1', `${CronJob.category}-acme.c1`]) await p.log.tombstone(stream);
  };
  const { secrets, files } = await p.rotate({ onStep });
  assert.equal({ secrets, files }, { secrets: undefined, files: undefined });
  assert.equal((await p.record.load()).data_keys, {});
});

test.run();
