import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { ruleFor } from '../two-tenants/access-rules.ts';
import { createDataset } from '../two-tenants/dataset.ts';
import { PRINCIPALS } from '../two-tenants/expected-access.ts';
import { callsOf, type Document } from '../two-tenants/id-positions.ts';
import { expectedStatuses, sendProbe, variantsOf } from '../two-tenants/probe.ts';

const dataset = await createDataset();
afterLastTest(() => dataset.close());
const document = dataset.document as unknown as Document;
const calls = callsOf(document);

test('a request is refused and changes nothing if its body has a field that the OpenAPI document does not name', async () => {
  for (const call of calls.filter(({ requestBody }) => requestBody)) {
    const variant = variantsOf(call)[0]!;
    const who = PRINCIPALS.find((principal) => expectedStatuses(call, variant, principal).includes(200))!;
    const before = dataset.log.events.length;
    const answer = await sendProbe(dataset, call, variant, who, { undeclared: 1 });
    const name = `${call.method} ${call.path} as ${who}`;
    assert.is(answer.status, 422, `${name} accepts an undeclared field`);
    assert.ok(answer.text.includes('/undeclared'), `${name}: ${answer.text}`);
    const appended = dataset.log.events.slice(before).map(({ type }) => type);
    assert.equal(
      appended.filter((type) => type !== 'ApiKeyUsed'),
      [],
      name,
    );
  }
});

test('the OpenAPI document names the permissions that each operation requires', () => {
  for (const { method, path, description = '' } of calls) {
    const { all, onDelivery, runnerOnly } = ruleFor(method, path, description);
    for (const permission of onDelivery ? ['agent:chat:read'] : runnerOnly ? [] : all)
      if (permission !== 'any')
        assert.ok(description.includes(`\`${permission}\``), `${method} ${path} needs ${permission}: ${description}`);
  }
});

test('apart from the pages of the console, the routes in the OpenAPI document are exactly the routes of the application', async () => {
  const routes = dataset.app.routes
    .filter(({ path, method }) => method !== 'ALL' && path !== '/*' && !/^\/(console|guides)/.test(path))
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  assert.equal([...new Set(routes)].sort(), documented.sort());
  for (const path of ['/', '/api', '/api/v1', '/v1', '/tenant', '/admin', '/nowhere/at/all'])
    assert.is((await dataset.send('GET', path)).status, 404, path);
});

test.run();
