import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { Platform } from '../../faults/platform.ts';
import { ADMIN_KEY, expectReply } from '../../faults/running-platform.ts';
import { findText } from '../../faults/secret-search.ts';
import { deadline } from '../../fixtures/load-factor.ts';
import { type Entry, linesOf } from '../../fixtures/memory-platform.ts';
import type { SecretCase } from './secret-case.ts';

/** A recognisable text that is part of everything that this test imports. */
const CANARY = 'memoryCanaryThatNobodyMaySee';
/** Enough for the import to last until after the last kill. */
const ENTRIES = 15_000;

type Job = { readonly status: string; readonly done: number; readonly total: number };

const upload = async (platform: Platform, path: string, content: string): Promise<{ id: string }> => {
  const form = new FormData();
  form.append('file', new Blob([content]), 'memories.jsonl');
  const response = await fetch(platform.url + path, { method: 'POST', headers: { authorization: `Bearer ${ADMIN_KEY}` }, body: form });
  assert.is(response.status, 202);
  return (await response.json()) as { id: string };
};

/** Imports memories of an agent, and kills the worker during the import. */
export const killedImport: SecretCase = {
  name: 'an import whose worker is killed three times adds each entry once, and no file of the platform contains its texts',
  act: async (platform) => {
    const { id: tenant } = await platform.firstTenant();
    const base = `/tenant/${tenant}`;
    const agent = await expectReply<{ id: string }>(platform.call('POST', `${base}/agents`, { name: 'Agent', slug: 'agent' }));
    const memory = `${base}/agents/${agent.id}/memory`;
    const texts = Array.from({ length: ENTRIES }, (_, n) => `${CANARY} ${n} ${'x'.repeat(200)}`);
    const { id } = await upload(platform, `${memory}/import`, linesOf(...texts));
    const job = () => expectReply<Job>(platform.call('GET', `${base}/jobs/${id}`), 200);
    for (let kill = 0; kill < 3; kill++) {
      await sleep(400);
      await platform.kill('work');
    }
    let state = await job();
    for (const isOver = deadline(60_000); state.status === 'running' && !isOver(); state = await job()) await sleep(200);
    assert.equal([state.status, state.done, state.total], ['done', ENTRIES, ENTRIES]);
    const newest = await expectReply<Entry[]>(platform.call('GET', `${memory}?limit=200`), 200);
    assert.equal(
      newest.map(({ text }) => text),
      texts.slice(-200).toReversed(),
    );
    const oldest = await expectReply<Entry[]>(platform.call('GET', `${memory}?limit=1&sort=created_at`), 200);
    assert.is(oldest[0]!.text, texts[0]);
    await expectReply(platform.call('DELETE', `${memory}/imports/${id}`), 204);
    return ({ own }) => {
      assert.ok(findText(id, own).length > 0, 'the search finds what is in the log');
      assert.equal(findText(CANARY, own), []);
    };
  },
};
