import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, startConsole } from '../fixtures/console-platform.ts';
import { seedSession } from '../fixtures/console-sessions.ts';
import { waitUntil } from '../fixtures/live-projections.ts';
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
/** Opens the page until the counts are those: a page does not wait for them. */
const openUntil = (expected: Record<string, string>, path?: string, cookie?: string) =>
  waitUntil(
    JSON.stringify(expected),
    () => open(path, cookie),
    (found) => JSON.stringify(found) === JSON.stringify(expected),
  );

const agent = await createAgent(p, 'Refund Assistant');
const paused = await createAgent(p, 'Reviewer');
await p.send('PATCH', `${p.tenant}/agents/${paused}`, { body: { is_active: false } });
await seedSession(p, agent);

test('the navigation has a number, and what it counts for screen readers, where something waits; and no zero', async () => {
  await openUntil({ Sessions: '1 waiting for you', Agents: '1 stopped' });
  await openUntil({ Sessions: '1 waiting for you', Agents: '1 stopped' }, `${p.base}/members`);
  await openUntil({ Sessions: '1 waiting for you', Agents: '1 stopped' }, `/console/run/createAgent?tenant_id=${p.tenant_id}`);
});

test('after a change, the page whose URL or request names it counts it at once', async () => {
  const changed = await p.send('PATCH', `${p.tenant}/agents/${agent}`, { body: { is_active: false } });
  const token = changed.headers.get('consistency-token')!;
  await p.waitForProjections();
  await openUntil({ Sessions: '1 waiting for you', Agents: '2 stopped' }, `${p.base}/agents?after=${encodeURIComponent(token)}`);
});

test('a page shows counts that only its visitor may see', async () => {
  const { user_id, key } = await addMember(p, 'MEMBER');
  const cookie = await p.signIn(key);
  assert.equal(await open(p.base, cookie), {});
  await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${user_id}`, { body: { role: 'VIEWER' } });
  await p.waitForProjections();
  await openUntil({ Agents: '1 stopped' }, p.base, await p.signIn(key));
});

test('neither a page of the past nor one that a super-admin opened for reading counts anything', async () => {
  const { text } = await p.open(`${p.base}/agents?as_of=${encodeURIComponent(new Date().toISOString())}`);
  assert.match(text, /class="frame past"/);
  assert.equal(countsIn(text), {});
  await p.send('PATCH', p.tenant, { body: { allow_superadmin_access: true } });
  const { key } = await addSuperAdmin(p, 'root@example.com');
  const cookie = await p.signIn(key);
  await p.send('POST', `/admin/tenants/${p.tenant_id}/break-glass`, { key, body: { reason: 'Support', minutes: 5 } });
  await p.waitForProjections();
  await p.open(p.base, cookie);
  await sleep(100);
  const glass = await p.open(p.base, cookie);
  assert.match(glass.text, /data-break-glass/);
  assert.equal(countsIn(glass.text), {});
});

test('while the counts cannot be read, pages are complete without them', async () => {
  const cookie = await p.signIn();
  const { rows } = p.reads;
  p.reads.rows = ((query, args) =>
    'status' in (args as object) && (args as { status?: string }).status === 'waiting'
      ? new Promise(() => {})
      : rows(query, args)) as typeof rows;
  const { status, text } = await p.open(`${p.base}/members`, cookie);
  p.reads.rows = rows;
  assert.equal([status, countsIn(text)], [200, {}]);
});

afterLastTest(() => p.close());

test.run();
