import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { seed } from '../../infra/processes/seed.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { openReadModels } from '../fixtures/read-models.ts';
import { createTempDirectory } from '../fixtures/temp-directory.ts';
import { startProcessOver } from '../fixtures/webhook-platform.ts';

test('processes that start at the same time on an empty log create a single first API key, and each of the processes shows that key', async () => {
  const log = memoryLog();
  const { dir, clear } = createTempDirectory();
  const shared = { log, reads: (await openReadModels(log)).reads, masterKeyFile: join(dir, 'master.key') };
  const processes = await Promise.all([1, 2, 3].map(() => startProcessOver(shared)));
  const shown: string[] = [];
  await Promise.all(processes.map(({ systemContext }) => seed(log, systemContext(), undefined, ({ key }) => void shown.push(key))));
  assert.is(new Set(shown).size, 1, shown.join(' '));
  const countOf = (type: string) => log.events.filter((event) => event.type === type).length;
  assert.equal([countOf('ApiKeyCreated'), countOf('PlatformStarted'), countOf('TenantCreated')], [1, 1, 1]);
  for (const { request } of processes)
    assert.is((await request('/tenant/none/agents', { headers: { authorization: `Bearer ${shown[0]}` } })).status, 404);
  for (const { close } of processes) await close();
  clear();
});

test('every new log gets a different first API key', async () => {
  const shown = new Set<string>();
  for (let count = 0; count < 2; count++) {
    const { dir, clear } = createTempDirectory();
    const log = memoryLog();
    const readModels = await openReadModels(log);
    const shared = { log, reads: readModels.reads, masterKeyFile: join(dir, 'master.key') };
    const { systemContext, close } = await startProcessOver(shared);
    await seed(log, systemContext(), undefined, ({ key }) => void shown.add(key));
    await close();
    await readModels.close();
    clear();
  }
  assert.is(shown.size, 2);
});

test.run();
