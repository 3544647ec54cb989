import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { PAGE_BYTES } from '../../projections/read-model.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

const p = await createTestPlatform();
const AGENTS = 24;
const LARGE = 'x'.repeat(450_000);
const created: string[] = [];
let token = '';

/** Reads all pages of a list and returns the ids of each page. */
const pagesOf = async (path: string, idOf: (item: never) => string): Promise<string[][]> => {
  const pages: string[][] = [];
  for (let next: string | undefined = path; next; ) {
    const { status, text, headers, body }: Awaited<ReturnType<typeof p.send>> = await p.send('GET', next);
    assert.is(status, 200, text.slice(0, 300));
    pages.push((body as never[]).map(idOf));
    assert.ok(pages.at(-1)!.length === 1 || Buffer.byteLength(text) < PAGE_BYTES + 1_000, `${path}: ${Buffer.byteLength(text)} bytes`);
    next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
  }
  return pages;
};
const idOf = ({ id }: { id: string }) => id;

test('if agents are large, a page contains fewer agents than the limit allows, and the next page continues after them', async () => {
  for (let n = 0; n < AGENTS; n++) {
    const { body, headers } = await p.send('POST', `${p.tenant}/agents`, { body: { name: `A${n}`, slug: `a${n}`, description: LARGE } });
    created.unshift((body as { id: string }).id);
    token = headers.get('consistency-token')!;
  }
  await p.waitForProjections();
  const pages = await pagesOf(`${p.tenant}/agents?limit=200`, idOf);
  assert.equal([pages.length, pages.flat()], [2, created]);
});

test('if agents are large, a page of an as-of list contains fewer agents than the limit allows', async () => {
  const pages = await pagesOf(`${p.tenant}/agents?limit=200&as_of=${encodeURIComponent(token)}`, idOf);
  assert.equal([pages.length, pages.flat()], [2, created]);
});

test('if audit log entries or history entries are large, a page contains fewer entries than the limit allows', async () => {
  for (let n = 0; n < 10; n++) {
    const { status } = await p.send('PATCH', `${p.tenant}/agents/${created[0]}`, { body: { description: `${n}${LARGE}` } });
    assert.is(status, 200);
  }
  await p.waitForProjections();
  const lines = await pagesOf(`${p.tenant}/audit-logs?limit=200`, idOf);
  assert.ok(lines.length > 1);
  assert.is(new Set(lines.flat()).size, lines.flat().length);
  assert.is(
    lines.flat().length,
    p.log.events.filter(({ meta, category }) => meta.tenant === p.tenant_id && !['key', 'idempotency'].includes(category)).length,
  );
  const history = await pagesOf(`${p.tenant}/agents/${created[0]}/history?limit=200`, ({ event_id }: { event_id: string }) => event_id);
  assert.ok(history.length > 1);
  assert.is(new Set(history.flat()).size, 11);
});

afterLastTest(() => p.close());

test.run();
