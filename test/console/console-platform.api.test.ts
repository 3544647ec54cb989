import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ReadHealth } from '../../api/operations/health.ts';
import { Refusal } from '../../domain/refusal.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { LogError } from '../../infra/eventstore/event-log.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { startConsole } from '../fixtures/console-platform.ts';
import { normalizedHtml } from '../fixtures/html-form.ts';
import { addMember, addSuperAdmin, createSecondTenant } from '../fixtures/users.ts';

const parts: Awaited<ReturnType<ReadHealth>>['parts'] = [
  { name: 'event store', status: 'ok', detail: 'answers in 1 ms', advice: null, figures: { stored_bytes: 1_572_864 } },
  { name: 'backup', status: 'degraded', detail: 'never made', advice: 'annals backup --to <dir>', figures: { age_seconds: 7_200 } },
  { name: 'NATS', status: 'down', detail: 'is not connected', advice: 'start nats-server', figures: {} },
];
const STARTED = { version: '0.1.0', build: '3f9c21ab', node: '26.10.0', started_at: '2026-11-29T06:00:00.000Z' };
const processes: Awaited<ReturnType<ReadHealth>>['processes'] = [
  { ...STARTED, name: 'one 4711', kind: 'serve', last_seen_at: '2026-11-29T07:00:00.000Z', state: 'running' },
  { ...STARTED, name: 'two 4711', kind: 'serve', build: null, last_seen_at: '2026-11-29T07:00:00.000Z', state: 'running' },
  { ...STARTED, name: 'two 4712', kind: 'work', last_seen_at: '2026-11-29T06:50:00.000Z', state: 'silent' },
];
const p = await startConsole({ readHealth: async () => ({ at: new Date().toISOString(), parts, processes }) });
const other = await createSecondTenant(p, 'other');
const member = await p.signIn((await addMember(p, 'ADMIN')).key);

const P = '/console/platform';
const PAGES = [
  P,
  `${P}/tenants`,
  `${P}/tenants/${other.id}`,
  `${P}/users`,
  `${P}/models`,
  `${P}/plans`,
  `${P}/allowed-accounts`,
  `${P}/audit-logs`,
];

const formsIn = (text: string): string[] =>
  [...text.matchAll(/href="(\/console\/run\/[^"]+)"/g)].map((found) => found[1]!.replaceAll('&amp;', '&'));

test('only super-admins see the platform pages and the links to them; for other users, these pages look like unknown pages', async () => {
  await p.recordPending();
  const before = p.eventsOf('AccessRefused').length;
  const unknown = await p.open(`${P}/nowhere`, member);
  for (const path of PAGES) {
    assert.is((await p.open(path)).status, 200, path);
    const hidden = await p.open(path, member);
    assert.is(hidden.status, 404, path);
    assert.is(normalizedHtml(hidden.text), normalizedHtml(unknown.text), path);
  }
  assert.not.match((await p.open(p.base, member)).text, P);
  assert.match((await p.open(p.base)).text, `href="${P}"`);
  assert.match((await p.open(P)).text, `href="${P}/tenants"`);
  await p.recordPending();
  assert.is(p.eventsOf('AccessRefused').length, before, 'a page sends no call that the visitor may not make');
});

test('the overview of the platform shows the processes of all hosts with their builds, and which of them are silent', async () => {
  const { text } = await p.open(P);
  const shown = [...text.matchAll(/data-kind="process" data-id="([^"]+)"([\s\S]*?)<\/tr>/g)].map(([, name, row = '']) => [
    name,
    /data-state="(\w+)"/.exec(row)?.[1],
    /build (\w+)/.exec(row)?.[1],
    [...row.matchAll(/datetime="([^"]+)"/g)].map(([, time]) => time),
  ]);
  const { started_at } = STARTED;
  assert.equal(shown, [
    ['one 4711', 'ok', '3f9c21ab', [started_at, processes[0]!.last_seen_at]],
    ['two 4711', 'ok', undefined, [started_at, processes[1]!.last_seen_at]],
    ['two 4712', 'degraded', '3f9c21ab', [started_at, processes[2]!.last_seen_at]],
  ]);
});

test('the overview of the platform shows each part with its state, advice and figures, broken parts first, and refreshes itself', async () => {
  const { text } = await p.open(P);
  const order = [...text.matchAll(/data-kind="part" data-id="([^"]+)"[\s\S]*?data-state="(\w+)"/g)].map(([, name, state]) => [name, state]);
  assert.equal(order, [
    ['NATS', 'down'],
    ['backup', 'degraded'],
    ['event store', 'ok'],
  ]);
  assert.match(text, /is not connected[\s\S]*start nats-server/);
  assert.match(text, /age 2 h 0 min/);
  assert.match(text, /<details class="card" id="parts-services"><summary>Services: 1 part in order<span class="quiet">: event store</);
  assert.match(text, '1.5 MiB');
  assert.match(text, /data-refresh="\/console\/platform" data-poll="2000"/);
});

test('every link to a form on the platform pages opens the form', async () => {
  for (const path of PAGES) {
    const { text } = await p.open(path);
    for (const link of new Set(formsIn(text))) assert.is((await p.open(link)).status, 200, link);
  }
});

/** Submits the form of a page, with its hidden fields. */
const sendForm = (text: string, fields: Record<string, string>) => {
  const hidden = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name!, value!]);
  const action = /action="(\/console\/run\/[^"]+)"/.exec(text)![1]!;
  return p.submit(action, { ...Object.fromEntries(hidden), ...fields });
};

/** Submits the form to which a link leads. @returns the path to which the response redirects */
const submitForm = async (link: string, fields: Record<string, string>) => {
  const answer = await sendForm((await p.open(link)).text, fields);
  assert.is(answer.status, 303, answer.text.slice(0, 2_000));
  return answer.headers.get('location')!;
};

test('a super-admin can suspend and resume a tenant with a reason; the form then leads back to the page of the tenant', async () => {
  const path = `${P}/tenants/${other.id}`;
  const linkTo = async (operation: string) => formsIn((await p.open(path)).text).find((link) => link.includes(`/run/${operation}?`))!;
  const back = await submitForm(await linkTo('suspendTenant'), { '/reason': 'Unpaid' });
  assert.match(back, path);
  const suspended = await p.open(back);
  assert.match(suspended.text, 'data-state="suspended"');
  await submitForm(await linkTo('resumeTenant'), { '/reason': 'Paid' });
  assert.equal(
    p.eventsOf('TenantSuspended', 'TenantResumed').map(({ data }) => (data as { reason: string }).reason),
    ['Unpaid', 'Paid'],
  );
});

test("the page of users finds a user by a part of the e-mail address, and offers no forms to change the visitor's own account", async () => {
  const { text } = await p.open(`${P}/users?q=other`);
  assert.is(text.match(/data-kind="user"/g)?.length, 1);
  assert.match(text, 'other@example.com');
  assert.is(formsIn(text).length, 2);
  assert.match((await p.open(`${P}/users?q=nobody-has-this`)).text, /data-empty[\s\S]*Clear the search/);
  const me = (await p.send('GET', '/me')).body as { user: { email: string } };
  assert.is(formsIn((await p.open(`${P}/users?q=${encodeURIComponent(me.user.email)}`)).text).length, 0);
});

test('the page of tenants finds a tenant by a part of its name or by its id', async () => {
  for (const q of ['OTHER', other.id]) {
    const { text } = await p.open(`${P}/tenants?q=${q}`);
    assert.equal(
      [...text.matchAll(/data-kind="tenant" data-id="(\w+)"/g)].map(([, id]) => id),
      [other.id],
    );
  }
  assert.match((await p.open(`${P}/tenants?q=100%25`)).text, /data-empty[\s\S]*Clear the search/);
});

test("a super-admin can allow an e-mail address to sign in; the platform's audit log shows the change", async () => {
  const [link] = formsIn((await p.open(`${P}/allowed-accounts`)).text).filter((one) => one.includes('/run/allowAccount?'));
  const back = await submitForm(link!, { '/email': 'new@example.com' });
  assert.match((await p.open(back)).text, /data-kind="account"[\s\S]*new@example\.com/);
  await p.waitForProjections();
  const { text } = await p.open(`${P}/audit-logs`);
  assert.match(text, /data-kind="audit"[\s\S]*new@example\.com/);
  assert.match((await p.open(`${P}/audit-logs?action=nothing.such`)).text, /data-empty[\s\S]*Clear the filters/);
});

test('a platform form that concerns a tenant looks like a page of the platform, and lists the tenants to choose from', async () => {
  const suspend = await p.open(`/console/run/suspendTenant?tenant_id=${other.id}`);
  assert.match(suspend.text, new RegExp(`aria-label="Breadcrumb"[\\s\\S]*?href="${P}"`));
  assert.not.match(suspend.text, `href="/console/t/${other.id}`);
  const models = (await p.send('GET', '/admin/models')).body as { id: string }[];
  const open = await p.open(`/console/run/openModelToTenant?model_id=${models[0]!.id}`);
  assert.match(open.text, new RegExp(`value="${other.id}"[^>]*>other`));
});

test('the page of a tenant that is closed for good says so, and offers to erase it, but no change', async () => {
  const { id, key } = await createSecondTenant(p, 'shut');
  await p.send('POST', `/tenant/${id}/close`, { key, body: { reason: 'moved' } });
  await p.systemContext(id).transact(Tenant, id, Tenant.closeForGood('2099-01-01T00:00:00.000Z'));
  await p.waitForProjections();
  const { status, text } = await p.open(`${P}/tenants/${id}`);
  assert.equal(
    [status, /nobody can open, change or reopen it/.test(text), /\/run\/(?!eraseTenant)\w+Tenant/.test(text)],
    [200, true, false],
  );
});

const REASON = 'The customer has left';

/** Opens the form that erases a tenant. @returns its page */
const eraseForm = async (id: string): Promise<string> =>
  (await p.open(`/console/run/eraseTenant?tenant_id=${id}&return_to=${encodeURIComponent(`${P}/tenants`)}`)).text;

test('a tenant is erased by its form only if its name is typed; what was typed stays', async () => {
  const doomed = await createSecondTenant(p, 'doomed');
  const text = await eraseForm(doomed.id);
  assert.match(text, /All data of [\s\S]*<strong[^>]*>doomed<[\s\S]*name="_name"[^>]*required/);
  const erase = (name: string) => sendForm(text, { '/reason': REASON, _name: name });
  const stateOf = async () => (await p.send('GET', `/admin/tenants/${doomed.id}`)).status;
  for (const name of ['', 'Doomed', 'other', doomed.id]) {
    const refused = await erase(name);
    assert.is(refused.status, 422, name);
    assert.match(refused.text, /must be the name, which is doomed/);
    assert.match(refused.text, `name="_name"`);
    assert.match(refused.text, REASON);
    if (name !== '') assert.match(refused.text, new RegExp(`value="${name}"`));
  }
  assert.is(await stateOf(), 200);
  assert.is((await erase(' doomed ')).status, 303);
  assert.is(await stateOf(), 404);
});

/** Makes the log refuse to count the events of a tenant. @returns a function that ends this */
const refuseToCount = (id: string, error: Error): (() => void) => {
  const { follow } = p.log;
  const isCount = ({ filter }: Parameters<typeof follow>[0]) => filter && 'streamPattern' in filter && filter.streamPattern.includes(id);
  const refusing: typeof follow = (follower) =>
    isCount(follower) ? { ...follow({ ...follower, event: () => {} }), failure: Promise.resolve(error) } : follow(follower);
  Object.assign(p.log, { follow: refusing });
  return () => void Object.assign(p.log, { follow });
};

/** Makes the queries fail that count what a tenant has, so that it cannot be read. @returns a function that ends this */
const refuseCounts = (): (() => void) => {
  const { rows } = p.reads;
  const fail = () => Promise.reject(new Refusal('unavailable', 'The read models cannot be reached: try again'));
  Object.assign(p.reads, { rows: fail });
  return () => void Object.assign(p.reads, { rows });
};

test('if the form that erases a tenant answers 503, it can be sent again after the tenant is erased', async () => {
  const { id } = await createSecondTenant(p, 'large');
  const countAgain = refuseToCount(id, new LogError('unavailable', 'the log is slow'));
  const first = await sendForm(await eraseForm(id), { '/reason': REASON, _name: 'large' }).finally(countAgain);
  assert.is(first.status, 503, first.text);
  const erase = () => p.send('DELETE', `/admin/tenants/${id}`, { body: { reason: REASON } });
  const receipt = await erase();
  assert.is(receipt.status, 202, receipt.text);
  const second = await sendForm(first.text, { '/reason': REASON, _name: 'large' });
  assert.is(second.status, 303, second.text);
  assert.match(second.headers.get('location')!, `${P}/tenants`);
  assert.equal((await erase()).body, receipt.body);
});

test('while the name of a tenant cannot be read, its form erases nothing, says why, and can be sent again', async () => {
  const { id } = await createSecondTenant(p, 'unread');
  const form = await eraseForm(id);
  const readAgain = refuseCounts();
  const refused = await sendForm(form, { '/reason': REASON, _name: 'unread' }).finally(readAgain);
  assert.is(refused.status, 422);
  assert.match(
    refused.text,
    /The name to compare with cannot be read, so nothing was sent\. Try again\. The reason: The read models cannot be reached/,
  );
  assert.match(refused.text, /name="_name"[^>]*value="unread"/);
  assert.not.match(refused.text, 'Nothing was changed');
  assert.is((await p.send('GET', `/admin/tenants/${id}`)).status, 200);
  assert.is((await sendForm(refused.text, { '/reason': REASON, _name: 'unread' })).status, 303);
});

test('the form that erases a tenant keeps the typed name after a failure, and after a button that only shows it', async () => {
  const { id } = await createSecondTenant(p, 'kept');
  const form = await eraseForm(id);
  const count = (error: Error) => () => refuseToCount(id, error);
  for (const [what, status, breakPart, fields] of [
    ['the event store is down', 503, count(new LogError('unavailable', 'the log is slow')), {}],
    ['a bug', 500, count(new Error('a bug')), {}],
    ['a button that only shows the form', 200, () => () => {}, { _edit: '1' }],
  ] as const) {
    const repair = breakPart();
    const { status: got, text } = await sendForm(form, { '/reason': REASON, _name: 'kept', ...fields }).finally(repair);
    assert.is(got, status, what);
    assert.match(text, /name="_name"[^>]*value="kept"/, what);
    assert.match(text, REASON, what);
  }
});

test('an erased tenant is listed as erased, and so says its page; the page of an unknown tenant looks like any unknown page', async () => {
  const gone = await createSecondTenant(p, 'gone');
  const erased = await p.send('DELETE', `/admin/tenants/${gone.id}`, { body: { reason: 'The customer has left' } });
  assert.is(erased.status, 202, erased.text);
  await p.waitForProjections();
  const { status, text } = await p.open(`${P}/tenants/${gone.id}`);
  assert.is(status, 404);
  assert.match(text, /data-erased[\s\S]*This tenant was erased[\s\S]*still verifies/);
  assert.match((await p.open(`${P}/audit-logs?resource_id=${gone.id}`)).text, /data-kind="audit"[\s\S]*tenant\.erased/);
  assert.not.match((await p.open(`${P}/tenants/c${'0'.repeat(24)}`)).text, /data-erased/);
  const row = new RegExp(`data-kind="tenant" data-id="${gone.id}" data-erased[\\s\\S]*?>gone<[\\s\\S]*?data-state="erased"`);
  for (const query of ['', '?q=GON', `?q=${gone.id}`]) assert.match((await p.open(`${P}/tenants${query}`)).text, row, query);
  assert.not.match((await p.open(`${P}/tenants?q=other`)).text, /data-erased/);
});

test('/console redirects a super-admin who belongs to no tenant to the platform pages', async () => {
  const admin = await addSuperAdmin(p, 'operator@example.com');
  const session = await p.signIn(admin.key);
  const answer = await p.open('/console', session);
  assert.equal([answer.status, answer.headers.get('location')], [303, P]);
  assert.is((await p.open(P, session)).status, 200);
});

afterLastTest(() => p.close());

test.run();
