import { runInNewContext } from 'node:vm';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { plainPaths } from '../../api/areas.ts';
import { openapi } from '../../api/http/openapi.ts';
import { BOOT_SCRIPT } from '../../api/operations/docs-page.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Parameter = { in: string; name: string; required: boolean; examples?: { default: { 'x-disabled': boolean } } };
type Content = {
  paths: Record<string, Record<string, { operationId: string; description?: string; parameters?: (Parameter | { $ref: string })[] }>>;
  components: { parameters: Record<string, Parameter> };
};
type Shown = { content: Content; servers: { url: string }[] };

/**
 * Runs the script of the documentation page in the same way as a browser at `origin`. @returns what the script passes
 * to Scalar, the viewer of the OpenAPI document
 */
const opened = async (origin: string): Promise<Shown> => {
  const p = await createTestPlatform();
  const document = JSON.stringify(openapi(p.operations, plainPaths, 'https://annals.example'));
  await p.close();
  return new Promise((resolve) => {
    const createApiReference = (_: string, shown: Shown) => resolve(JSON.parse(JSON.stringify(shown)) as Shown);
    const fetch = async (path: string) => ({ json: async () => JSON.parse(path === '/openapi.json' ? document : '{}') });
    runInNewContext(BOOT_SCRIPT, { fetch, location: { origin }, Scalar: { createApiReference } });
  });
};

test('the docs page sends requests to its own origin, and the sample requests on the page leave out optional parameters', async () => {
  const { content, servers } = await opened('http://localhost:4100');
  assert.equal(servers, [{ url: 'http://localhost:4100' }]);
  const operations = Object.values(content.paths).flatMap((path) => Object.values(path));
  const all = operations.flatMap(({ parameters = [] }) => parameters).filter((one) => 'in' in one);
  const shared = Object.values(content.components.parameters);
  assert.ok(all.length > 100 && shared.length === 3);
  for (const one of [...all, ...shared]) assert.is(one.examples?.default['x-disabled'], one.required ? undefined : true, one.name);
});

test('the docs page links each change of the API to its form in the console, and no other route', async () => {
  const p = await createTestPlatform();
  const changes = Object.keys(p.operations).filter((name) => p.operations[name]!.method !== 'get');
  await p.close();
  const { content } = await opened('http://localhost:4100');
  const linked = Object.values(content.paths)
    .flatMap((path) => Object.values(path))
    .flatMap(({ description = '' }) => /\n\n\[Open the form in the console\]\(\/console\/run\/(\w+)\)$/.exec(description)?.[1] ?? []);
  assert.equal(linked.sort(), changes.sort());
});

test.run();
