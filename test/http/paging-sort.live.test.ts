import * as assert from 'uvu/assert';
import { plainPaths } from '../../api/areas.ts';
import { openapi } from '../../api/http/openapi.ts';
import { comparePositions, type Position, parseToken } from '../../domain/event.ts';
import type { Provider } from '../../domain/integrations/provider.ts';
import { sampleEvents } from '../../domain/integrations/sample-delivery.ts';
import { AGENT_SORTS, agentIdsAsOf, agentPage } from '../../projections/agents/agent.queries.ts';
import { agents } from '../../projections/agents/agent.ts';
import { allModels, MODEL_SORTS } from '../../projections/agents/model.queries.ts';
import { models } from '../../projections/agents/model.ts';
import { compareText } from '../../projections/column-values.ts';
import { USER_SORTS, userPage } from '../../projections/identity/user.queries.ts';
import { users } from '../../projections/identity/user.ts';
import { INTEGRATION_SORTS, integrationPage } from '../../projections/integrations/integration.queries.ts';
import { integrations } from '../../projections/integrations/integration.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import type { Page, PageWindow, Reads } from '../../projections/read-model.ts';
import { TENANT_SORTS, tenantPage } from '../../projections/tenants/tenant.queries.ts';
import { tenants } from '../../projections/tenants/tenant.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Item = Record<string, string | number | boolean | null>;
type Parameter = { name: string; in: string; schema: { enum?: string[] } };
type Document = { paths: Record<string, Record<string, { parameters?: Parameter[] }>> };

const filled = async () => {
  const p = await createTestPlatform();
  for (const [n, name] of ['Zed', 'anna', 'Emile', 'Bob', 'bob'].entries()) {
    const kind = n % 2 === 0 ? 'user' : 'coding';
    const created = await p.send('POST', `${p.tenant}/agents`, { body: { name, slug: `slug-${5 - n}`, kind } });
    assert.is(created.status, 201, created.text);
    const { id } = created.body as { id: string };
    if (n > 2) await p.send('PATCH', `${p.tenant}/agents/${id}`, { body: { is_active: false } });
    const hook = { agent_id: id, label: `L${n % 3}`, provider: 'github' };
    const connected = await p.send('POST', `${p.tenant}/webhook-integrations`, { body: hook });
    assert.is(connected.status, 201, connected.text);
    await p.send('POST', `${p.tenant}/api-keys`, { body: { name } });
    await p.send('POST', '/admin/plans', { body: { slug: `plan-${n}`, name, monthly_usd: 5 - n, limits: LIMITS } });
    await p.send('POST', '/admin/models', { body: { provider: `p${n % 2}`, slug: `model-${n}`, name } });
    await p.send('POST', '/admin/allowed-accounts', { body: { email: `${name}${n}@example.com` } });
    await createSecondTenant(p, `tenant-${(n * 3) % 5}`);
    await addMember(p, 'MEMBER', p.tenant_id, `u${(n * 2) % 5}@example.com`);
  }
  await p.waitForProjections();
  return p;
};
const LIMITS = { agents: 1, members: 1, cron_jobs: 1, webhooks_per_minute: 1 };

/** Compares two values in the order of Postgres, where null is greater than any other value. */
const order = (a: Item[string], b: Item[string]): number => {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return typeof a === 'string' ? compareText(a, b as string) : Number(a) - Number(b);
};

/** The orders by numbers that the items do not have. The tests of the activity of agents prove these. */
const COMPUTED = ['activity', 'queue', 'deliveries', 'failed', 'cost'].map((order) => `/tenant/{tenant_id}/agents ${order}`);

const isSorted = (items: readonly Item[], sort: string): boolean => {
  const field = sort.replace('-', '');
  const sign = sort === field ? 1 : -1;
  return items.every((item, n) => n === 0 || sign * order(items[n - 1]![field]!, item[field]!) <= 0);
};

test('a list can be sorted by name and divided into pages even if the names have the maximum length', async () => {
  const p = await createTestPlatform();
  const longest = (n: number) => '語'.repeat(254) + n;
  for (const n of [1, 2]) assert.is((await p.send('POST', `${p.tenant}/api-keys`, { body: { name: longest(n) } })).status, 201);
  await p.waitForProjections();
  const first = await p.send('GET', `${p.tenant}/api-keys?sort=-name&limit=1`);
  const second = await p.send('GET', /<([^>]+)>/.exec(first.headers.get('link')!)![1]!);
  assert.is(second.status, 200, second.text);
  assert.equal(
    [first, second].map(({ body }) => (body as Item[])[0]!.name),
    [longest(2), longest(1)],
  );
  await p.close();
});

test('every list can be sorted, and read in pages, by the fields that the OpenAPI document names, and by no other field', async () => {
  const p = await filled();
  const { paths } = openapi(p.operations, plainPaths, 'http://annals.test') as unknown as Document;
  const agent = ((await p.send('GET', `${p.tenant}/agents`)).body as Item[])[0]!.id as string;
  const hook = ((await p.send('GET', `${p.tenant}/webhook-integrations`)).body as Item[])[0]!.id as string;
  const skill = { name: 'S', slug: 's', description: 'd', instructions: 'i' };
  const skill_id = ((await p.send('POST', `${p.tenant}/skills`, { body: skill })).body as Item).id as string;
  await p.send('POST', `${p.tenant}/agents/${agent}/skills`, { body: { skill_id } });
  const exposed = (await p.send('PUT', `${p.tenant}/skills/${skill_id}/webhook`, { body: { agent_id: agent } })).body as Item;
  for (let n = 0; n < 5; n++) await p.send('POST', `/hooks/skills/${skill_id}`, { key: exposed.token as string, body: { n } });
  const jobFields = { name: 'J', kind: 'recurring', target_kind: 'internal_agent', target: agent, interval_minutes: 5 };
  const job = ((await p.send('POST', `${p.tenant}/agents/${agent}/cron-jobs`, { body: jobFields })).body as Item).id as string;
  for (let n = 0; n < 5; n++) await p.send('POST', `${p.tenant}/agents/${agent}/cron-jobs/${job}/skip`);
  await p.waitForProjections();
  let lists = 0;
  for (const [template, { get }] of Object.entries(paths)) {
    const sorts = get?.parameters?.find(({ name }) => name === 'sort')?.schema.enum;
    if (!get?.parameters?.some(({ name }) => name === 'sort')) continue;
    lists++;
    assert.ok(sorts && sorts.length > 1, `${template} names no fields`);
    const path = template
      .replace('{tenant_id}', p.tenant_id)
      .replace('{agent_id}', agent)
      .replace('{id}', template.includes('cron-jobs') ? job : hook)
      .replace('{skill_id}', skill_id);
    const all = (await p.send('GET', `${path}?limit=200`)).body as Item[];
    for (const sort of sorts) {
      const found: Item[] = [];
      for (let next: string | undefined = `${path}?limit=3&sort=${sort}`; next; ) {
        const { status, body, headers, text }: Awaited<ReturnType<typeof p.send>> = await p.send('GET', next);
        assert.is(status, 200, `${next}: ${text}`);
        found.push(...(body as Item[]));
        next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
      }
      assert.is(found.length, all.length, `${path} ${sort}`);
      assert.ok(
        COMPUTED.includes(`${template} ${sort.replace('-', '')}`) || isSorted(found, sort),
        `${path} ${sort}: ${found.map((item) => item[sort.replace('-', '')])}`,
      );
    }
    assert.is((await p.send('GET', `${path}?sort=colour`)).status, 422, path);
  }
  assert.ok(lists > 10, `${lists} lists`);
  const known = (path: string) => paths[path]!.get!.parameters!.find(({ name }) => name === 'sort')!.schema.enum!;
  for (const field of ['slug', 'kind', 'is_active', 'is_admin_only', 'name'])
    assert.ok(known('/tenant/{tenant_id}/agents').includes(field));
  for (const field of ['provider', 'slug', 'status', 'updated_at']) assert.ok(known('/admin/models').includes(`-${field}`));
  for (const field of ['last_used_at', 'expires_at']) assert.ok(known('/tenant/{tenant_id}/api-keys').includes(field));
  for (const field of ['slug', 'agent_count', 'member_count']) assert.ok(known('/admin/tenants').includes(field));
  for (const field of ['name', 'last_login_at', 'is_suspended']) assert.ok(known('/api/v1/admin/users').includes(field));
  await p.close();
});

type List = (reads: Reads, window: PageWindow) => Promise<Page>;
type Listed = { readonly list: List; readonly projection: AnyProjection; readonly columns: readonly string[]; readonly doc?: string } & {
  /** Returns an item as the list shows it. Needed if the list adds fields to the stored item. */
  readonly shown?: (item: Item) => object;
};
type Platform = Awaited<ReturnType<typeof filled>>;

/**
 * Reads a list in pages of two items. Asserts that every page but the last one is full. @returns the items of all pages
 */
const readPages = async (reads: Reads, list: List, sort: PageWindow['sort']): Promise<Item[]> => {
  const items: Item[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Page = await list(reads, { sort, limit: 2, cursor });
    const found = JSON.parse(page.body) as Item[];
    assert.ok(page.next === null ? found.length <= 2 : found.length === 2);
    items.push(...found);
    cursor = page.next;
  }
  return items;
};

/**
 * Returns the items that a list in this order must have, computed from the log in memory. Lists of a tenant's resources
 * contain only those of this tenant.
 */
const foldedItems = (
  p: Platform,
  { projection, doc, shown = (item) => item }: Listed,
  { column, descending }: PageWindow['sort'],
): object[] => {
  const [table] = projection.tables;
  const at = doc ? Object.keys(table!.docs).indexOf(doc) : 0;
  const direction = descending ? -1 : 1;
  return [...p.foldedRows(projection.name, table!.name).values()]
    .map(({ row, docs }) => ({ row: row as Item, doc: JSON.parse(docs[at]!) as Item }))
    .filter(({ row }) => row.tenant_id === undefined || row.tenant_id === p.tenant_id)
    .sort((a, b) => direction * (order(a.row[column]!, b.row[column]!) || order(a.row.id!, b.row.id!)))
    .map((each) => shown(each.doc));
};

test('for each sort field, the pages contain the items that the log yields, sorted by that field; null is greater than any value, and ids break ties', async () => {
  const p = await filled();
  const lists: readonly Listed[] = [
    {
      list: (reads, window) => agentPage(reads, p.tenant_id, { visibility: { all: true } }, window),
      projection: agents,
      columns: AGENT_SORTS,
      doc: 'list_doc',
    },
    {
      list: (reads, window) => integrationPage(reads, { tenant_id: p.tenant_id, publicUrl: '' }, {}, window),
      projection: integrations,
      columns: INTEGRATION_SORTS,
      shown: (item) => ({ ...item, test_events: [...sampleEvents(item.provider as Provider)] }),
    },
    { list: allModels, projection: models, columns: MODEL_SORTS },
    { list: (reads, window) => tenantPage(reads, undefined, window), projection: tenants, columns: TENANT_SORTS },
    { list: (reads, window) => userPage(reads, undefined, window), projection: users, columns: USER_SORTS },
  ];
  for (const listed of lists)
    for (const column of listed.columns)
      for (const descending of [true, false]) {
        const found = await readPages(p.reads, listed.list, { column, descending });
        assert.ok(found.length >= 5, `${listed.projection.name}: ${found.length} items`);
        assert.equal(found, foldedItems(p, listed, { column, descending }), `${listed.projection.name} ${column} ${descending}`);
      }
  await p.close();
});

/** Returns the ids of the tenant's agents that existed at this position of the log, the newest first. */
const agentsExistingAt = (p: Platform, at: Position): string[] => {
  const created = new Map<string, string>();
  const deleted = new Set<string>();
  for (const { type, category, tenant, id, position, at: time } of p.log.events) {
    if (category !== 'agent' || tenant !== p.tenant_id || comparePositions(position, at) > 0) continue;
    if (type === 'AgentCreated') created.set(id, time);
    if (type === 'AgentDeleted') deleted.add(id);
    if (type === 'AgentRestored') deleted.delete(id);
  }
  const existing = [...created].filter(([id]) => !deleted.has(id));
  return existing.sort(([a, first], [b, second]) => compareText(second, first) || compareText(b, a)).map(([id]) => id);
};

test('in Postgres, a list as of a position has the agents that existed then, including those deleted since', async () => {
  const p = await filled();
  const [first, second] = (await p.send('GET', `${p.tenant}/agents`)).body as Item[];
  const changed = async (method: string, path: string) =>
    parseToken((await p.send(method, `${p.tenant}/agents/${path}`)).headers.get('consistency-token')!)!;
  await changed('DELETE', `${first!.id}`);
  const positions = [await changed('POST', `${first!.id}/restore`), await changed('DELETE', `${second!.id}`)];
  await changed('DELETE', `${first!.id}`);
  await p.waitForProjections();
  const newest = { sort: { column: 'created_at', descending: true }, limit: 3 };
  for (const [n, at] of positions.entries()) {
    const page = await agentIdsAsOf(p.reads, p.tenant_id, at, newest);
    const rest = await agentIdsAsOf(p.reads, p.tenant_id, at, { ...newest, cursor: page.next! });
    assert.equal([...page.ids, ...rest.ids], agentsExistingAt(p, at));
    assert.equal([page.ids.length, rest.ids.length, rest.next], [3, 2 - n, null]);
    assert.equal([page.ids.includes(String(first!.id)), page.ids.includes(String(second!.id))], [true, n === 0]);
  }
  await p.close();
});

test.run();
