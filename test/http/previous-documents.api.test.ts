import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';

type Json = Record<string, unknown>;

const p = await startConsole();
const agent = await createAgent(p, 'Desk');
await seedSession(p, agent);
await p.waitForProjections();

/** Lists, the fields that the documents of the version before lack, and the value that such a document has instead. */
const LISTS: readonly [path: string, missing: readonly string[], shown: Json][] = [
  [`${p.tenant}/audit-logs`, ['subjects'], { subjects: [] }],
  [`${p.tenant}/audit-logs?collapse=true`, ['subjects'], { subjects: [] }],
  ['/admin/audit-logs', ['subjects'], { subjects: [] }],
  [
    `${p.tenant}/sessions`,
    ['prompt_tokens', 'completion_tokens', 'cost_micros', 'last_message_at'],
    { prompt_tokens: 0, completion_tokens: 0, cost_usd: 0, last_message_at: null },
  ],
];

const without = (documents: string, missing: readonly string[]): string =>
  JSON.stringify(
    (JSON.parse(documents) as Json[]).map((document) =>
      Object.fromEntries(Object.entries(document).filter(([name]) => !missing.includes(name))),
    ),
  );

for (const [path, missing, shown] of LISTS)
  test(`after an upgrade, ${path.replace(/c\w{24}/, '…')} is answered from the documents of the previous version`, async () => {
    const { page } = p.reads;
    p.reads.page = async (...given) => {
      const found = await page(...given);
      return { ...found, body: without(found.body, missing) };
    };
    const answer = await p.send('GET', path).finally(() => Object.assign(p.reads, { page }));
    assert.is(answer.status, 200, answer.text);
    const items = answer.body as Json[];
    assert.ok(items.length > 0);
    for (const item of items) assert.equal(Object.fromEntries(Object.keys(shown).map((name) => [name, item[name]])), shown);
  });

afterLastTest(p.close);

test.run();
