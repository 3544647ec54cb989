// limit: 300
import { randomBytes, randomUUID } from 'node:crypto';
import { copyFileSync, cpSync, globSync, mkdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { openBlobPlace, openBlobStore } from '../../infra/blobs/open-blob-store.ts';
import { openVault } from '../../infra/vault/vault.ts';
import { withPlatform } from '../faults/platform.ts';
import { expectReply, type RunningPlatform } from '../faults/running-platform.ts';
import { eventually, mainFile, startProgram, unconfiguredEnvironment } from '../fixtures/child-process.ts';
import { withProcessPlatform } from '../fixtures/process-platform.ts';
import { startS3Server } from '../fixtures/s3-server.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const HOUR_MS = 3_600_000;

/** Runs a CLI command with the data directory of a platform. */
const annals = async ({ data, url }: Pick<RunningPlatform, 'data' | 'url'>, words: readonly string[], env: NodeJS.ProcessEnv = {}) => {
  const running = startProgram(process.execPath, [mainFile, ...words], {
    env: { ...unconfiguredEnvironment(), ANNALS_DATA: data, ANNALS_URL: url, ...env },
  });
  return { code: await running.ended, lines: running.output().trim().split('\n') };
};

/** Opens the file store of a platform in the same way as the platform's processes do. */
const openStoreOf = async (platform: RunningPlatform, blobsUrl?: string) => {
  const log = platform.openLog();
  const vault = await openVault({ log, masterKeyFile: join(platform.data, 'master.key') });
  const { id: tenant } = await platform.firstTenant();
  const blobs = openBlobStore(await openBlobPlace({ annalsData: platform.data, blobsUrl }), vault).of(tenant);
  /** Appends the event which records that a skill was imported from the archive with this digest. */
  const importSkill = async (package_digest: string, package_bytes: number): Promise<void> => {
    const id = `c${randomBytes(12).toString('hex')}`;
    const fields = { name: 'Skill', slug: `s-${id}`, description: '', visibility: 'private', instructions: '', config_schema: null };
    const data = { ...fields, digest: package_digest, generation: 0, package_digest, package_bytes };
    const meta = { tenant, actor: { kind: 'system', id: 'test' } as const, at: new Date().toISOString(), v: 1 };
    await log.append(`skill-${tenant}.${id}`, 'none', [{ id: randomUUID(), type: 'SkillImported', data, meta }]);
  };
  return { tenant, blobs, importSkill, close: log.close };
};

const findingOf = async (platform: RunningPlatform, env: NodeJS.ProcessEnv = {}) => {
  const { lines } = await annals(platform, ['doctor', '--json'], env);
  const { findings } = JSON.parse(lines[0]!) as { findings: { part: string; level: string; message: string; advice: string | null }[] };
  return findings.find(({ part }) => part === 'file store')!;
};

test('with a bucket, annals gc removes only old files that no event names; doctor and /readyz report an object store that is down', async () => {
  const server = await startS3Server();
  const BLOBS_URL = server.url('annals');
  await withProcessPlatform(
    async (platform) => {
      const store = await openStoreOf(platform, BLOBS_URL);
      const variables = { ...platform.serviceVariables(), BLOBS_URL };
      const run = (...words: string[]) => annals(platform, ['blobs', ...words], variables);
      const { sha256: named } = await store.blobs.put(Buffer.from('named'));
      const { sha256: orphan } = await store.blobs.put(Buffer.from('orphan'));
      const agent = { name: 'A', slug: 'a', description: `made from ${named}` };
      await expectReply(platform.call('POST', `/tenant/${store.tenant}/agents`, agent));
      for (const object of server.objects.values()) object.modified -= 30 * HOUR_MS;
      await store.blobs.put(Buffer.from('recent'));

      const found = ['named by no event and older than 24 h: 1 file, 134 B', 'uploads that were never finished: 0'];
      const dryRun = await run('gc');
      assert.equal(dryRun, { code: 0, lines: ['stored: 3 files, 401 B', ...found, 'nothing was removed: run again with --delete'] });
      assert.is(server.objects.size, 3);
      assert.is((await run('gc', '--delete')).lines.at(-1), 'removed: 1 file, 134 B');
      assert.is(await store.blobs.exists(orphan), false);
      assert.is(await store.blobs.exists(named), true);
      assert.is((await run('gc', '--grace', '0')).code, 2);

      await store.importSkill(named, 5);
      assert.equal(await run('verify'), { code: 0, lines: ['1 file verified, 5 B; 0 missing or damaged'] });
      server.objects.delete(`annals/${store.tenant}/${named}`);
      const { code, lines } = await run('verify');
      assert.is(code, 1);
      assert.match(lines[0]!, new RegExp(`^missing: ${named} of tenant ${store.tenant}`));

      const degraded = async (): Promise<string[]> =>
        (JSON.parse((await platform.call('GET', '/readyz')).text) as { degraded: string[] }).degraded;
      assert.is((await findingOf(platform, variables)).level, 'ok');
      assert.not((await degraded()).includes('file store'));
      await server.close();
      const down = await findingOf(platform, variables);
      assert.is(down.level, 'fail');
      assert.match(down.message, 'the object store cannot be reached: ECONNREFUSED');
      await eventually('/readyz names the file store', async () => (await degraded()).includes('file store'));
      assert.match((await platform.call('GET', '/metrics')).text, 'annals_dependency_up{name="file_store"} 0');
      await store.close();
    },
    { BLOBS_URL },
  );
});

test('annals backup copies the events and the files that the events name; annals restore verifies each of these files', () =>
  withPlatform(async (platform) => {
    const store = await openStoreOf(platform);
    assert.match((await findingOf(platform)).message, `${join(platform.data, 'blobs')} can be written and read`);
    const contents = [randomBytes(1_000), randomBytes(700_000)];
    for (const content of contents) await store.importSkill((await store.blobs.put(content)).sha256, content.length);
    await store.close();
    const copy = join(platform.dir, 'backup');
    const copied = await annals(platform, ['backup', '--to', copy]);
    assert.is(copied.code, 0, copied.lines.join('\n'));
    assert.match(copied.lines.join('\n'), /copied 2 files, 684\.\d KiB\nnot copied: the master key/);
    assert.is((await annals(platform, ['backup', '--to', copy])).code, 2);
    await platform.stop();

    const restored = { data: join(platform.dir, 'restored'), url: platform.url };
    const restore = (from = copy) => annals(restored, ['restore', '--from', from]);
    assert.match((await restore()).lines[0]!, /the master key .* is missing: put its copy there first/);
    mkdirSync(restored.data, { recursive: true });
    copyFileSync(join(platform.data, 'master.key'), join(restored.data, 'master.key'));
    const { code, lines } = await restore();
    assert.is(code, 0, lines.join('\n'));
    assert.match(lines.join('\n'), '2 files verified, 684.6 KiB; 0 missing or damaged\nrestored: start the platform');
    assert.is(globSync('blobs/c*/*/*', { cwd: restored.data }).length, 2);
    assert.is((await restore()).code, 2, 'a directory that contains a platform is refused');

    const broken = join(platform.dir, 'broken');
    cpSync(copy, broken, { recursive: true });
    truncateSync(join(broken, globSync('blobs/c*/*/*', { cwd: broken })[0]!), 500);
    for (const part of ['store', 'blobs']) rmSync(join(restored.data, part), { recursive: true });
    const failed = await restore(broken);
    assert.is(failed.code, 1);
    assert.match(
      failed.lines.join('\n'),
      /^damaged: [0-9a-f]{64} of tenant .*, named by event .*\n2 files verified.*; 1 missing or damaged$/m,
    );
  }));

test.run();
