import * as assert from 'uvu/assert';
import { withTotalCount } from '../../api/http/paging.ts';
import { agentCount } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import { auditCount, auditPage } from '../../projections/audit/audit-log.queries.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import { integrationCount } from '../../projections/integrations/integration.queries.ts';
import { integrations } from '../../projections/integrations/integration.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { projections } from '../../projections/registry.ts';
import { query, startProjectionPlatform, waitForProjection } from '../fixtures/live-projections.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Item = { id: string };

const p = await createTestPlatform();

const lists = async (path: string, query = '', key?: string) => {
  await p.waitForProjections();
  const { headers, body } = await p.send('GET', `${path}?limit=200${query}`, key ? { key } : {});
  const total = headers.get('total-count');
  return { items: body as Item[], total: total === null ? null : Number(total) };
};

const hooks = `${p.tenant}/webhook-integrations`;
const connected = async (agent_id: string) => {
  const created = await p.send('POST', hooks, { body: { provider: 'github', agent_id, label: 'Code' } });
  assert.is(created.status, 201, created.text);
  return (created.body as Item).id;
};

test('Total-Count does not include disconnected integrations', async () => {
  assert.is((await lists(hooks)).total, 0);
  const { body } = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'A', slug: 'a' } });
  const [first] = [await connected((body as Item).id), await connected((body as Item).id), await connected((body as Item).id)];
  assert.is((await lists(hooks)).total, 3);
  assert.is((await p.send('DELETE', `${hooks}/${first}`)).status, 204);
  const { items, total } = await lists(hooks);
  assert.equal([items.length, total], [2, 2]);
});

test('on every page, Total-Count is the size of the whole list; a filtered list has no Total-Count', async () => {
  assert.is((await lists(hooks, '&sort=label')).total, 2);
  const page = await p.send('GET', `${hooks}?limit=1`);
  assert.is(page.headers.get('total-count'), '2');
  assert.is((await lists(hooks, '&provider=github')).total, null);
  assert.is((await lists(`${p.tenant}/audit-logs`, '&action=agent.created')).total, null);
});

test('Total-Count of the audit log and of the members counts only the entries and members of the tenant', async () => {
  const other = await createSecondTenant(p, 'other');
  for (const path of [`${p.tenant}/audit-logs`, `${p.tenant}/members`]) {
    const before = await lists(path);
    assert.is(before.total, before.items.length, path);
    await addMember(p, 'MEMBER', p.tenant_id, `${path.length}@example.com`);
    const after = await lists(path);
    assert.is(after.total, after.items.length, path);
    assert.ok(after.total! > before.total!, path);
  }
  // The first request with a key adds an audit log entry about the use of the key. Make this request now, so that no
  // entry is added between reading the list and its count.
  await p.send('GET', other.tenant, { key: other.key });
  const theirs = await lists(`${other.tenant}/audit-logs`, '', other.key);
  assert.is(theirs.total, theirs.items.length);
});

/** Computes from the log in memory how many rows the tenant has in this projection. Deleted rows do not count. */
const foldedCount = ({ name, tables: [table] }: AnyProjection): number =>
  [...p.foldedRows(name, table!.name).values()].filter(({ row }) => row.tenant_id === p.tenant_id && !row[table!.softDelete ?? '']).length;

test('the counters in Postgres equal the numbers of rows; lists of a projection that has no counters yet have no Total-Count', async () => {
  await p.waitForProjections();
  const databaseUrl = await freshDatabase();
  const { reads, close } = await startProjectionPlatform(p.log, databaseUrl, projections);
  for (const { name } of projections) await waitForProjection(reads, p.log, name);
  const counters = [
    { count: agentCount, projection: agents },
    { count: integrationCount, projection: integrations },
    { count: auditCount, projection: audit },
  ];
  for (const { count, projection } of counters) {
    const stored = await count(reads, p.tenant_id);
    assert.ok(stored > 0);
    assert.is(stored, foldedCount(projection), projection.name);
    assert.is(stored, await count(p.reads, p.tenant_id), projection.name);
  }
  await query(databaseUrl, 'drop table audit.audit_counts');
  const newest = { sort: { column: 'created_at', descending: true }, limit: 1 };
  const page = await withTotalCount({}, auditPage(reads, p.tenant_id, {}, newest), () => auditCount(reads, p.tenant_id));
  assert.equal([JSON.parse(page.body).length, page.total], [1, undefined]);
  await close();
});

test.run();
