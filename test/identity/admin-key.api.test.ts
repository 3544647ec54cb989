import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createSuperAdminKey } from '../../commands/identity/admin-key.ts';
import * as ApiKey from '../../domain/identity/api-key.ts';
import { buildKey } from '../../domain/identity/api-key-format.ts';
import * as User from '../../domain/identity/user.ts';
import { openOperatorContext } from '../../infra/cli/operator-context.ts';
import { checkAdminKey, seed } from '../../infra/processes/seed.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { openReadModels } from '../fixtures/read-models.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { startProcessOver } from '../fixtures/webhook-platform.ts';

const ACTOR = { kind: 'system', id: 'annals keys' } as const;

/** Calls `work` with a platform that has completed its first start. */
const withSeededPlatform = async (
  work: (parts: {
    process: Awaited<ReturnType<typeof startProcessOver>>;
    first: string;
    operator: Awaited<ReturnType<typeof openOperatorContext>>;
    statusFor: (key: string) => Promise<number>;
  }) => Promise<void>,
): Promise<void> => {
  const log = memoryLog();
  const { dir, clear } = createTempDirectory();
  const readModels = await openReadModels(log);
  const masterKeyFile = join(dir, 'master.key');
  const process = await startProcessOver({ log, reads: readModels.reads, masterKeyFile });
  let first = '';
  await seed(log, process.systemContext(), undefined, ({ key }) => {
    first = key;
  });
  const statusFor = async (key: string): Promise<number> =>
    (await process.request('/admin/api-keys', { headers: { authorization: `Bearer ${key}` } })).status;
  await work({ process, first, operator: await openOperatorContext(log, masterKeyFile, ACTOR), statusFor });
  await process.close();
  await readModels.close();
  clear();
};

test('if a suspended user gets an API key on the command line, the user becomes an active super-admin again, and the key works', () =>
  withSeededPlatform(async ({ process, first, operator, statusFor }) => {
    const ctx = process.systemContext();
    const admin = (await createSuperAdminKey(operator, 'One', 'a test')).state.owner_id;
    await ctx.transact(User, admin, User.change({ is_suspended: true, is_super_admin: false, reason: null }, false));
    assert.is(await statusFor(first), 401);
    const { key } = (await createSuperAdminKey(operator, 'Two', 'a test')).state;
    assert.is(await statusFor(key), 200);
    assert.is(await statusFor(first), 200);
  }));

test('at its start, the platform reports an ANNALS_ADMIN_KEY that is unknown, revoked, expired, limited to a tenant, or owned by a suspended user', () =>
  withSeededPlatform(async ({ process, first, operator }) => {
    const ctx = process.systemContext();
    const faultOf = async (key: string): Promise<string | undefined> => {
      let reported: string | undefined;
      await checkAdminKey(ctx, key, (line) => {
        reported = line;
      });
      return reported && /^ANNALS_ADMIN_KEY does not work: ([^;]+); /.exec(reported)?.[1];
    };
    assert.is(await faultOf(first), undefined);
    assert.is(await faultOf(buildKey('aaaaaaaa', 'b'.repeat(32))), 'the platform does not know it');
    assert.is(await faultOf(buildKey(first.slice(4, 12), 'b'.repeat(32))), 'the platform does not know it');
    const { id, state } = await createSuperAdminKey(operator, 'One', 'a test');
    const add = async (name: string, fields: object) => {
      const key = buildKey(name, 'c'.repeat(32));
      const data = {
        name,
        kind: 'platform',
        tenant_id: null,
        agent_id: null,
        owner_id: state.owner_id,
        expires_at: null,
        ...fields,
      } as const;
      await ctx.transact(ApiKey, ctx.secrets.uniqueId('apikey', name), ApiKey.create({ ...data, digest: ctx.secrets.digest(key) }));
      return key;
    };
    assert.is(await faultOf(await add('00000001', { expires_at: '2020-01-01T00:00:00.000Z' })), 'it expired at 2020-01-01T00:00:00.000Z');
    assert.is(await faultOf(await add('00000002', { kind: 'tenant', tenant_id: `c${'1'.repeat(24)}` })), 'it is not a key of the platform');
    await ctx.transact(
      ApiKey,
      id,
      ApiKey.revoke(() => true),
    );
    assert.is(await faultOf(state.key), 'it was revoked');
    await ctx.transact(User, state.owner_id, User.change({ is_suspended: true, reason: null }, false));
    assert.is(await faultOf(first), 'its owner is suspended or is not a super-admin');
  }));

test.run();
