import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createSecondTenant } from '../fixtures/users.ts';
import type { Call } from '../two-tenants/id-positions.ts';
import { startValidCalls } from '../two-tenants/valid-calls.ts';

const { dataset, calls, callerOf, pathOf } = await startValidCalls();
afterLastTest(() => dataset.close());

const LATER = '2099-01-01T00:00:00.000Z';
const reason = { body: { reason: 'a test' } };

/** Creates a tenant that is closed for good. @returns its id */
const createClosed = async (slug: string): Promise<string> => {
  const { id, key } = await createSecondTenant(dataset, slug);
  assert.is((await dataset.send('POST', `/tenant/${id}/close`, { ...reason, key })).status, 200);
  await dataset.systemContext(id).transact(Tenant, id, Tenant.closeForGood(LATER));
  return id;
};

const closed = await createClosed('closed');
const read = (id: string) => dataset.send('GET', `/admin/tenants/${id}`);

test('a tenant that is closed for good can be read until it is erased, but not changed', async () => {
  const { status, body } = await read(closed);
  assert.equal([status, (body as { status: string }).status], [200, 'closed']);
  const changes = [
    await dataset.send('PATCH', `/admin/tenants/${closed}`, { body: { name: 'Other' } }),
    await dataset.send('POST', `/admin/tenants/${closed}/suspend`, reason),
    await dataset.send('POST', `/admin/tenants/${closed}/break-glass`, { body: { reason: 'a test', minutes: 5 } }),
  ];
  for (const change of changes) assert.ok(change.status >= 400 && change.status < 500, change.text);
  const erased = await createClosed('erased');
  assert.is((await dataset.send('DELETE', `/admin/tenants/${erased}`, reason)).status, 202);
  assert.is((await read(erased)).status, 404);
  const listed = (await dataset.send('GET', '/admin/tenants')).body as { id: string }[];
  assert.equal([listed.some(({ id }) => id === closed), listed.some(({ id }) => id === erased)], [true, false]);
});

/** The list operations whose rows another operation can read, with that operation and its last path parameter. */
const lists = calls.flatMap((list) => {
  const item = calls.find(({ method, path }) => method === 'GET' && path.replace(/\/\{\w+\}$/, '') === list.path && path !== list.path);
  return list.method === 'GET' && item ? [{ list, item }] : [];
});

const faultsOf = async ({ list, item }: { list: Call; item: Call }): Promise<string[]> => {
  const { status, body } = await dataset.send('GET', pathOf(list), { key: dataset.keys[await callerOf(list)] });
  if (status !== 200 || !Array.isArray(body)) return [];
  const parameter = /\{(\w+)\}$/.exec(item.path)![1]!;
  const faults: string[] = [];
  for (const row of body as Record<string, string>[]) {
    const id = row[parameter] ?? row.id;
    if (id === undefined) faults.push(`${list.operationId}: a row has no ${parameter}`);
    else opened++;
    const answer =
      id && (await dataset.send('GET', `${pathOf(list)}/${encodeURIComponent(id)}`, { key: dataset.keys[await callerOf(item)] }));
    if (answer && answer.status !== 200) faults.push(`${item.operationId}: ${answer.status} for ${JSON.stringify(row)}`);
  }
  return faults;
};
let opened = 0;

test('every row of every list can be opened', async () => {
  const faults: string[] = [];
  for (const one of lists) faults.push(...(await faultsOf(one)));
  assert.equal(faults, []);
  assert.ok(opened > 30, `${opened} rows were opened`);
});

test.run();
