import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';
import { addMember, addSuperAdmin } from '../fixtures/users.ts';

const p = await startConsole();

/** Returns the counts in the navigation of a page, by the label of the entry. */
const countsIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/<span>([\w ]+)<\/span><span class="nav-count">([\s\S]*?)<\/span><\/span>/g)].map(([, label, count]) => [
      label!,
      count!.replaceAll(/<[^>]*>/g, ''),
    ]),
  );
const open = async (path = p.base, cookie = p.cookie): Promise<Record<string, string>> => {
  const { status, text } = await p.open(path, cookie);
  assert.is(status, 200, text);
  return countsIn(text);
};
const UNKNOWN = /<nav aria-label="Main" data-counts="unknown"/;

type Rows = typeof p.reads.rows;
/** Replaces the function that reads rows while `use` runs. */
const withRows = async <T>(replaced: (rows: Rows) => Rows, use: () => Promise<T>): Promise<T> => {
  const { rows } = p.reads;
  p.reads.rows = replaced(rows);
  return use().finally(() => {
    p.reads.rows = rows;
  });
};
const countsSessions = (args: unknown): boolean => (args as { status?: string }).status === 'waiting';

const agent = await createAgent(p, 'Refund Assistant');
const paused = await createAgent(p, 'Reviewer');
await p.send('PATCH', `${p.tenant}/agents/${paused}`, { body: { is_active: false } });
await seedSession(p, agent);

const SEEN = { Sessions: '1 waiting for you', Agents: '1 stopped' };

test('every page of a browser shows the counts, describes them to screen readers, and shows no zero', async () => {
  for (const path of [p.base, `${p.base}/members`, `/console/run/createAgent?tenant_id=${p.tenant_id}`])
    assert.equal(await open(path), SEEN, path);
});

test('the first page after a change of the visitor contains it, or says that the counts are unknown', async () => {
  const changed = await p.send('PATCH', `${p.tenant}/agents/${agent}`, { body: { is_active: false } });
  const after = encodeURIComponent(changed.headers.get('consistency-token')!);
  const path = `${p.base}/agents?after=${after}`;
  const gate = Promise.withResolvers<void>();
  const slow: (rows: Rows) => Rows = (rows) =>
    (async (query: never, args: never) => {
      if (countsSessions(args)) await gate.promise;
      return rows(query, args);
    }) as Rows;
  const { text } = await withRows(slow, () => p.open(path));
  assert.match(text, UNKNOWN);
  assert.equal(countsIn(text), {});
  gate.resolve();
  await sleep(200);
  assert.equal(await open(path), { ...SEEN, Agents: '2 stopped' });
  assert.equal(await open(), { ...SEEN, Agents: '2 stopped' });
});

test('the first page that is opened after a change contains it', async () => {
  const changed = await p.send('PATCH', `${p.tenant}/agents/${agent}`, { body: { is_active: true } });
  await p.waitForProjections();
  const after = encodeURIComponent(changed.headers.get('consistency-token')!);
  assert.equal(await open(`${p.base}/agents?after=${after}`), SEEN);
});

test('a page shows counts that only its visitor may see', async () => {
  const { user_id, key } = await addMember(p, 'MEMBER');
  assert.equal(await open(p.base, await p.signIn(key)), {});
  await p.send('PUT', `${p.tenant}/agents/${paused}/roles/${user_id}`, { body: { role: 'VIEWER' } });
  await p.waitForProjections();
  assert.equal(await open(p.base, await p.signIn(key)), { Agents: '1 stopped' });
});

test('pages of one browser that are opened at the same time count once, and no page lists the call', async () => {
  const cookie = await p.signIn();
  const gate = Promise.withResolvers<void>();
  let read = 0;
  const counting: (rows: Rows) => Rows = (rows) =>
    (async (query: never, args: never) => {
      if (countsSessions(args)) {
        read++;
        await gate.promise;
      }
      return rows(query, args);
    }) as Rows;
  const pages = await withRows(counting, async () => {
    const opened = await Promise.all(Array.from({ length: 5 }, () => p.open(`${p.base}/members`, cookie)));
    gate.resolve();
    await sleep(200);
    return [...opened, await p.open(`${p.base}/members`, cookie)];
  });
  assert.is(read, 1);
  for (const { text } of pages) assert.not.match(text, /overview\/counts/);
  assert.equal(countsIn(pages.at(-1)!.text), SEEN);
});

test('from 1,000 given-up deliveries on, the number has a plus sign', async () => {
  const many: (rows: Rows) => Rows = (rows) =>
    (async (query: never, args: never) => ('given_up_from' in (args as object) ? [{ count: 1_000 }] : rows(query, args))) as Rows;
  const cookie = await p.signIn();
  assert.is((await withRows(many, () => open(`${p.base}/members`, cookie))).Deliveries, '1,000+ dead in 24 hours');
});

test('neither a page that shows the past nor one that a super-admin opened for reading counts anything', async () => {
  const { text } = await p.open(`${p.base}/agents?as_of=${encodeURIComponent(new Date().toISOString())}`);
  assert.match(text, /class="frame past"/);
  assert.equal(countsIn(text), {});
  assert.not.match(text, UNKNOWN);
  await p.send('PATCH', p.tenant, { body: { allow_superadmin_access: true } });
  const { key } = await addSuperAdmin(p, 'root@example.com');
  const cookie = await p.signIn(key);
  await p.send('POST', `/admin/tenants/${p.tenant_id}/break-glass`, { key, body: { reason: 'Support', minutes: 5 } });
  await p.waitForProjections();
  await p.open(p.base, cookie);
  const glass = await p.open(p.base, cookie);
  assert.match(glass.text, /data-break-glass/);
  assert.equal(countsIn(glass.text), {});
  assert.not.match(glass.text, UNKNOWN);
});

test('while the counts cannot be read, pages are complete without them, and after a change no page shows older ones', async () => {
  const stuck: (rows: Rows) => Rows = (rows) =>
    ((query: never, args: never) => (countsSessions(args) ? Promise.reject(new Error('No answer')) : rows(query, args))) as Rows;
  const cookie = await p.signIn();
  const { status, text } = await withRows(stuck, () => p.open(`${p.base}/members`, cookie));
  assert.equal([status, countsIn(text)], [200, {}]);
  assert.match(text, UNKNOWN);
  assert.equal(await open(p.base, cookie), SEEN);
  const after = encodeURIComponent((await p.send('PATCH', p.tenant, { body: { name: 'Renamed' } })).headers.get('consistency-token')!);
  await p.waitForProjections();
  const later = await withRows(stuck, () => p.open(`${p.base}/members?after=${after}`, cookie));
  assert.match(later.text, UNKNOWN);
  // The change is not counted yet: no later page shows the counts before it, either.
  const next = await withRows(stuck, () => p.open(p.base, cookie));
  assert.match(next.text, UNKNOWN);
  assert.equal([countsIn(next.text), await open(p.base, cookie)], [{}, SEEN]);
});

afterLastTest(() => p.close());

test.run();
