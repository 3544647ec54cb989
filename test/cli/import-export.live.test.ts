// limit: 300 s for this file (test/run.ts)
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { exportTenant } from '../../infra/cli/audit/export-tenant.ts';
import { openPlatform } from '../faults/platform.ts';
import { mainFile, startProgram, unconfiguredEnvironment, withTempDirectory } from '../fixtures/child-process.ts';
import { serveApp } from '../fixtures/serve-app.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { createDataset } from '../two-tenants/dataset.ts';

const { dir } = createTempDirectory();
const file = join(dir, 'home.jsonl');

/** Runs `annals import` with these arguments and this data directory. @returns its exit code and what it prints */
const runImport = async (data: string, words: readonly string[], variables: NodeJS.ProcessEnv = {}) => {
  const env = { ...unconfiguredEnvironment(), ANNALS_DATA: data, NO_COLOR: '1', ...variables };
  const running = startProgram(process.execPath, [mainFile, 'import', ...words], { env });
  return { code: await running.ended, output: running.output() };
};

type Json = Record<string, unknown>;

test('an export of a tenant with one resource of every type succeeds', async () => {
  const dataset = await createDataset();
  const { tenants } = (await dataset.send('GET', '/me', { key: dataset.keys.owner })).body as { tenants: { id: string }[] };
  await dataset.waitForProjections();
  await signAuditHeads(dataset, [tenants[0]!.id]);
  const server = await serveApp(dataset);
  assert.is(await exportTenant({ tenant: undefined, to: file, wait: false, url: server.url, key: dataset.keys.owner }), 0);
  await server.close();
  await dataset.close();
});

test('annals import fails and creates nothing without --inspect, if the file is missing or changed, or if an event store is configured', async () => {
  const data = join(dir, 'refused');
  const changed = join(dir, 'changed.jsonl');
  writeFileSync(changed, '{"line":1}\n');
  for (const [words, variables, code, text] of [
    [[file], {}, 2, 'add --inspect'],
    [['missing.jsonl', '--inspect'], {}, 2, 'there is no file'],
    [[changed, '--inspect'], {}, 1, 'line 1: '],
    [[file, '--inspect', '--key', 'another'], {}, 1, 'does not have the key another'],
    [[file, '--inspect'], { EVENTSTORE_URL: 'esdb://127.0.0.1:1' }, 2, 'unset EVENTSTORE_URL'],
    [[file, '--inspect'], { DATABASE_URL: 'postgres://127.0.0.1:1' }, 2, 'unset DATABASE_URL'],
  ] as const) {
    const refused = await runImport(data, words, variables);
    assert.is(refused.code, code, refused.output);
    assert.match(refused.output, text);
    assert.not(existsSync(join(data, 'store')), text);
  }
});

test('annals import fails if the data directory already contains a platform', async () => {
  const data = join(dir, 'occupied');
  mkdirSync(join(data, 'store'), { recursive: true });
  const refused = await runImport(data, [file, '--inspect']);
  assert.equal([refused.code, /contains a platform already/.test(refused.output)], [2, true], refused.output);
  assert.not(existsSync(join(data, 'inspection.json')), 'the platform must not become one for inspection');
});

test('an imported tenant can be read with the printed key, changes of it are refused, and it has no effects outside the platform', () =>
  withTempDirectory(async (place) => {
    const imported = await runImport(join(place, 'data'), [file, '--inspect']);
    assert.is(imported.code, 0, imported.output);
    const [, tenant] = /of the tenant (\w+) for inspection/.exec(imported.output)!;
    const [key] = /ann_\w+/.exec(imported.output)!;
    const platform = await openPlatform(place);
    try {
      await platform.start();
      const read = async (path: string) => {
        const { status, text } = await platform.call('GET', path, undefined, { key });
        return { status, text, body: JSON.parse(text) as Json[] };
      };
      for (let tries = 0; tries < 100 && (await read(`/tenant/${tenant}/agents`)).body.length < 2; tries++) await sleep(200);
      const first = async (path: string): Promise<string> => String((await read(`/tenant/${tenant}/${path}`)).body[0]?.id);
      const agent = await first('agents');
      const known: Record<string, string> = {
        tenant_id: tenant!,
        agent_id: agent,
        delivery_id: await first('deliveries'),
        session_id: await first(`agents/${agent}/sessions`),
        cron_job_id: await first(`agents/${agent}/cron-jobs`),
        skill_id: await first('skills'),
      };
      const { paths } = JSON.parse((await platform.call('GET', '/openapi.json')).text) as { paths: Record<string, { get?: object }> };
      const reads = Object.keys(paths).filter((path) => paths[path]!.get && path.includes('{tenant_id}'));
      const answers: [string, number][] = [];
      for (const path of reads) {
        const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => known[name] ?? agent);
        const { status } = await fetch(platform.url + filled, { headers: { authorization: `Bearer ${key}` } });
        answers.push([filled, status]);
      }
      assert.equal(
        answers.filter(([, status]) => status >= 500).map(([path]) => path.slice(path.lastIndexOf('/'))),
        ['/memory'],
        'the memory of an agent is in a file, and files are not exported',
      );
      assert.ok(answers.filter(([, status]) => status === 200).length > 30, JSON.stringify(answers));
      const changed = await platform.call('PATCH', `/tenant/${tenant}/agents/${agent}`, { name: 'Changed' }, { key });
      assert.is(changed.status, 403, changed.text);
      const entries = (await read(`/tenant/${tenant}/audit-logs?limit=200`)).body;
      assert.ok(entries.length > 30);
      assert.ok(entries.some(({ action }) => action === 'tenant.created'));
      // Check that the worker only inspects the imported events. A normal worker would sign a head over them within ten
      // seconds.
      await sleep(15_000);
      const log = platform.openLog();
      const types = (await Array.fromAsync(log.readAll())).map(({ type }) => type);
      await log.close();
      assert.equal(
        types.filter((type) => ['AuditHeadSigned', 'CronOccurrenceDecided', 'SessionExpired'].includes(type)),
        [],
      );
      const again = await runImport(join(place, 'data'), [file, '--inspect']);
      assert.match(again.output, /already runs|contains a platform already/);
    } finally {
      await platform.close();
    }
  }));

test.run();
