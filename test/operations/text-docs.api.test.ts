import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

const p = await createTestPlatform();

const textOf = async (path: string, type: string): Promise<string> => {
  const response = await p.app.request(path);
  assert.equal([response.status, response.headers.get('content-type')], [200, `${type}; charset=utf-8`]);
  return response.text();
};

type Document = { readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>> };

/** Returns the id, the method and the path of everything in the OpenAPI document: operations, uploads, hooks, streams … */
const documented = async (): Promise<readonly (readonly [id: string, call: string])[]> => {
  const { paths } = (await (await p.app.request('/openapi.json')).json()) as Document;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => [operationId, `${method.toUpperCase()} ${path}`] as const),
  );
};

test('/llms.txt and /docs.md have every route of the OpenAPI document, also those of uploads, hooks, downloads and streams', async () => {
  const [lines, markdown] = [await textOf('/llms.txt', 'text/plain'), await textOf('/docs.md', 'text/markdown')];
  const all = await documented();
  assert.ok(all.length > Object.keys(p.operations).length + 20);
  for (const [id, call] of all) {
    assert.is(lines.split(`/docs.md#${id.toLowerCase()}): ${call}. `).length, 2, id);
    assert.is(markdown.split(`\n### ${id}\n\n\`${call}\`\n`).length, 2, id);
  }
});

test('/llms.txt names the other documents, and every operation once with its method, path and summary', async () => {
  const text = await textOf('/llms.txt', 'text/plain');
  assert.match(text, /^# Annals\n\n> .+\n\n## Documents\n/);
  assert.match(text, /^- \[createAgent\]\(\S+\/docs\.md#createagent\): POST \/tenant\/\{tenant_id\}\/agents\. Create an agent$/m);
  for (const name of Object.keys(p.operations)) assert.is(text.split(`[${name}](`).length, 2, name);
});

test('/docs.md has a heading, the fields and the response of every operation, and a table of every schema', async () => {
  const text = await textOf('/docs.md', 'text/markdown');
  for (const name of Object.keys(p.operations)) assert.is(text.split(`\n### ${name}\n`).length, 2, name);
  const [, createAgent = ''] = text.split('\n### createAgent\n');
  assert.match(createAgent, /^\n`POST \/tenant\/\{tenant_id\}\/agents`\n/);
  assert.match(createAgent, /\| `tenant_id` \| path \| string, required \| The id of the tenant \|\n/);
  assert.match(createAgent, /\| `name` \| body \| string, required \| /);
  assert.match(createAgent, /^Response: 201 with AgentRead\.$/m);
  assert.match(text, /\n### AgentRead\n\n\| field \| type \| description \|\n/);
  // Check that each row of a table has as many cells as the table's heading, even if a type has the character `|` in
  // it.
  for (const table of text.match(/(^\|.*\n)+/gm)!) {
    const cells = table
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/(?<!\\)\|/).length);
    assert.is(new Set(cells).size, 1, table.slice(0, 400));
  }
});

afterLastTest(() => p.close());

test.run();
