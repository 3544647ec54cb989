import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openObjects, type Schema } from '../fixtures/json-schema.ts';
import { startDocumented } from './documented-operations.ts';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

const { p, document, schemas, described } = await startDocumented();

const refsIn = (value: unknown): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) => (name === '$ref' ? [String(one)] : refsIn(one)));
};
const at = (pointer: string): unknown =>
  pointer
    .slice(2)
    .split('/')
    .reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], document);

test('the OpenAPI document has version 3.1, and every reference in it resolves', () => {
  assert.is((document as unknown as { openapi: string }).openapi, '3.1.0');
  const refs = new Set(refsIn(document));
  assert.ok(refs.size > 10);
  for (const ref of refs) {
    assert.ok(ref.startsWith('#/components/'), ref);
    assert.ok(at(ref), ref);
  }
  assert.not.match(JSON.stringify(document), /"\$defs"|"\$schema"/);
});

test('the request and response bodies of operations have named schemas', () => {
  const tables = new Set(Object.keys(p.operations));
  for (const { operation } of described.filter(({ operation }) => tables.has(operation.operationId)))
    for (const { content } of [...(operation.requestBody ? [operation.requestBody] : []), ...Object.values(operation.responses)])
      for (const { schema } of Object.values(content ?? {}))
        assert.ok(schema.$ref ?? (schema.items as Schema | undefined)?.$ref, operation.operationId);
});

test('every operation in the OpenAPI document has a unique id, a response, its path parameters and its permission', () => {
  const ids = described.map(({ operation }) => operation.operationId);
  assert.is(new Set(ids).size, ids.length, 'operationIds are unique');
  for (const { path, method, operation } of described) {
    const name = `${method} ${path}`;
    assert.ok(METHODS.includes(method) && operation.operationId, name);
    const declared = (operation.parameters ?? []).filter((one) => one.in === 'path').map((one) => one.name);
    assert.equal(
      declared,
      [...path.matchAll(/\{(\w+)\}/g)].map((found) => found[1]),
      name,
    );
    assert.ok(
      Object.keys(operation.responses).some((status) => /^[23]\d\d$/.test(status)),
      name,
    );
  }
  for (const [name, row] of Object.entries(p.operations)) {
    assert.ok(row.permit, name);
    const { description } = described.find(({ operation }) => operation.operationId === name)!.operation;
    if (row.permissionNote) assert.ok(description.endsWith(row.permissionNote), name);
    for (const one of row.permissionNote ? [] : typeof row.permit === 'string' ? [row.permit] : row.permit.all)
      if (one !== 'none' && one !== 'any') assert.ok(description.includes(one), `${name}: ${description}`);
  }
});

test('no object in a request body accepts fields that its schema does not name', () => {
  const open = described.flatMap(({ operation: { operationId, requestBody } }) =>
    Object.entries(requestBody?.content ?? {})
      .filter(([type]) => type === 'application/json' && operationId !== 'receiveWebhook')
      .flatMap(([, { schema }]) => openObjects(schema, schemas, operationId)),
  );
  assert.equal(open, []);
});

/**
 * Returns whether a path belongs to a page of the console. Console pages are for browsers, so the OpenAPI document
 * omits them.
 */
const isPage = (path: string): boolean => /^\/(console|guides)(\/|$)/.test(path);

test('the OpenAPI document contains exactly the routes that are served, except pages of the console and guides', () => {
  const mounted = p.app.routes
    .filter(({ method, path }) => method !== 'ALL' && !isPage(path))
    .map(({ method, path }) => `${method.toLowerCase()} ${path.replace(/:(\w+)/g, '{$1}')}`);
  assert.equal([...new Set(mounted)].sort(), described.map(({ path, method }) => `${method} ${path}`).sort());
});

test.run();
