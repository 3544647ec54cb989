// share, limit: 240
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueSignInLink } from '../../commands/identity/sign-in-link.ts';
import { registerUser } from '../../commands/identity/user.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { OWN_PAGE } from '../fixtures/console-platform.ts';
import { withoutAddress, withoutNavCounts } from '../fixtures/html-form.ts';
import { openShare } from '../fixtures/share.ts';
import { addMember } from '../fixtures/users.ts';
import { linkKind, linksOf } from './page-links.ts';
import type { PageUrl } from './page-urls.ts';
import { startWholeConsole } from './whole-console.ts';

const share = openShare();
const { p, of, pages, forms, close } = await startWholeConsole();

const memberWith = async (role: Parameters<typeof addMember>[1], name: string) => {
  const { user_id, key } = await addMember(p, role, p.tenant_id, `${name}@example.com`);
  return { user_id, cookie: await p.signIn(key) };
};

/** Signs in a super-admin who is not a member of the tenant. */
const stranger = async (name: string): Promise<string> => {
  const email = `${name}@example.com`;
  const { id } = await registerUser(p.systemContext(), email);
  const made = await p.send('PATCH', `/api/v1/admin/users/${id}`, { body: { is_super_admin: true } });
  assert.is(made.status, 200, made.text);
  const answer = await p.submit('/console/in', { code: await issueSignInLink(p.systemContext(), email) }, undefined, '');
  return answer.headers.getSetCookie()[0]!.split(';')[0]!;
};

const viewer = await memberWith('MEMBER', 'viewer');
const granted = await p.send('POST', `${p.tenant}/agents/${of.agent}/grants`, { body: { user_id: viewer.user_id, role: 'VIEWER' } });
assert.ok(granted.status < 300, granted.text);
const manager = await memberWith('MEMBER', 'manager');
const assigned = await p.send('PUT', `${p.tenant}/agents/${of.agent}/roles/${manager.user_id}`, { body: { role: 'MANAGER' } });
assert.is(assigned.status, 200, assigned.text);
/** Signs in a super-admin who is not a member of the tenant, and has opened it with a reason. */
const guest = async (): Promise<string> => {
  const cookie = await stranger('guest');
  const path = `/admin/tenants/${p.tenant_id}/break-glass`;
  const opened = await p.send('POST', path, { key: '', headers: { cookie, ...OWN_PAGE }, body: { reason: 'Support', minutes: 60 } });
  assert.is(opened.status, 201, opened.text);
  return cookie;
};

const visitors: Readonly<Record<string, string>> = {
  OWNER: (await memberWith('OWNER', 'owner')).cookie,
  ADMIN: (await memberWith('ADMIN', 'admin')).cookie,
  MEMBER: (await memberWith('MEMBER', 'member')).cookie,
  'MEMBER with VIEWER on the agent': viewer.cookie,
  'MEMBER with MANAGER on the agent': manager.cookie,
  AUDITOR: (await memberWith('AUDITOR', 'auditor')).cookie,
  'super-admin': p.cookie,
  'super-admin who is not a member': await stranger('stranger'),
  'super-admin under break-glass': await guest(),
};
await p.waitForProjections();

const readAs = (cookie: string, path: string) => p.send('GET', path, { key: '', headers: { cookie } });

type Me = { permissions: string[]; tenants: { id: string; permissions: string[] }[]; break_glass?: { until: string } | null };

/** Returns the function that says what the API lets a visitor do: the permissions in the tenant and on the agent. */
const permissionsOf = async (cookie: string) => {
  const me = (await readAs(cookie, `/me?tenant_id=${p.tenant_id}`)).body as Me;
  const own = await readAs(cookie, `${p.tenant}/agents/${of.agent}/effective-permissions`);
  const onAgent = own.status === 200 ? (own.body as { permissions: { id: string; allowed: boolean }[] }).permissions : [];
  const tenant = me.tenants.find(({ id }) => id === p.tenant_id);
  return {
    isGuest: tenant === undefined,
    has: (permission: string): boolean =>
      ['any', ...me.permissions, ...(tenant?.permissions ?? [])].includes(permission) ||
      (tenant === undefined && Boolean(me.break_glass) && permission.endsWith(':read')) ||
      onAgent.some(({ id, allowed }) => allowed && id === permission),
    seesAgent: (await readAs(cookie, `${p.tenant}/agents/${of.agent}`)).status === 200,
    seesDelivery: (await readAs(cookie, `${p.tenant}/deliveries/${of.delivery}`)).status === 200,
    seesSession: (await readAs(cookie, `${p.tenant}/sessions/${of.session}`)).status === 200,
    seesJob: (await readAs(cookie, `${p.tenant}/jobs/${of.replay}`)).status === 200,
  };
};

/** Opens a URL, and follows redirects to another URL of the same page, such as one with an exact time. */
const openAs = async (cookie: string, url: string) => {
  const answer = await p.open(url, cookie);
  return answer.status === 303 ? p.open(answer.headers.get('location')!, cookie) : answer;
};

/**
 * Removes from the HTML of a page what differs between two requests for pages that are not found: the path to which
 * forms lead back, and the id and the durations of the request.
 */
const comparable = (html: string): string =>
  withoutAddress(withoutNavCounts(html))
    .replaceAll(/return_to(?:=|" value=")[^"&]*/g, '')
    .replaceAll(/\d+(?:\.\d+)? ms/g, '')
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '');

type Permissions = Awaited<ReturnType<typeof permissionsOf>>;

/** Says whether the API lets the visitor read what a page shows. */
const mayOpen = ({ name, permit }: PageUrl, { has, seesAgent, seesDelivery, seesSession, seesJob }: Permissions): boolean =>
  has(permit) &&
  (!name.includes(':agent_id') || seesAgent) &&
  (!name.includes(':delivery_id') || seesDelivery) &&
  (!name.includes(':session_id') || seesSession || has('tenant:audit:read')) &&
  (!name.includes(':tenant_job_id') || seesJob);

/** A visitor, with the name and the permissions that the visitor has. */
type Visitor = { readonly name: string; readonly cookie: string; readonly permissions: Permissions };

const pagesFor = ({ name, permissions }: Visitor, isAllowed: boolean): readonly PageUrl[] =>
  share.casesOf(
    pages.filter((page) => mayOpen(page, permissions) === isAllowed),
    (page) => `${name} ${page.name}`,
  );

/** Opens pages that a visitor may not see. @returns what is wrong */
const openForbidden = async (visitor: Visitor): Promise<string[]> => {
  const { cookie, permissions } = visitor;
  const wrong: string[] = [];
  const unknown = comparable((await p.open(`${p.base}/nowhere`, cookie)).text);
  for (const page of pagesFor(visitor, false)) {
    const { status, text } = await openAs(cookie, page.url);
    if (status !== 404) wrong.push(`${page.name} answers ${status}`);
    // Compare only pages that the console refuses without calling the API. If it has to call the API to find out
    // whether the visitor may see the page, the "not found" page lists that call, so its HTML differs from that of an
    // unknown page.
    const isRefusedAtOnce = !permissions.has(page.permit) && page.url.startsWith(p.base);
    if (isRefusedAtOnce && comparable(text) !== unknown) wrong.push(`${page.name} differs from an unknown page`);
  }
  return wrong;
};

/** Opens pages that a visitor may see, and pages to which they link. @returns what is wrong */
const openAllowed = async (visitor: Visitor): Promise<string[]> => {
  const { name, cookie } = visitor;
  const wrong: string[] = [];
  const opened: string[] = [];
  for (const page of pagesFor(visitor, true)) {
    const { status, text } = await openAs(cookie, page.url);
    if (status !== 200) wrong.push(`${page.name} answers ${status}`);
    opened.push(text);
  }
  for (const link of share.casesOf(linksOf(opened), (one) => `${name} ${linkKind(one)}`)) {
    const { status, text } = await openAs(cookie, link);
    // The link "one event back" can lead to a time before the resource was created.
    const isPast = link.includes('as_of=') && text.includes(NOT_THEN);
    if (status !== 200 && !isPast) wrong.push(`the link ${link} answers ${status}`);
  }
  return wrong;
};

const NOT_THEN = 'Nothing is here at this time';

for (const [name, cookie] of Object.entries(visitors))
  share.test(`${name}: each page answers as the permissions say, each link leads to a page, and no call is refused`, async () => {
    const visitor = { name, cookie, permissions: await permissionsOf(cookie) };
    assert.equal(await openForbidden(visitor), []);
    await p.recordPending();
    const before = p.eventsOf('AccessRefused').length;
    assert.equal(await openAllowed(visitor), []);
    await p.recordPending();
    assert.equal(
      p
        .eventsOf('AccessRefused')
        .slice(before)
        .map(({ data }) => data),
      [],
    );
  });

for (const [name, cookie] of Object.entries(visitors))
  share.test(`${name}: exactly the forms of the operations that the visitor may call can be opened`, async () => {
    const { has, isGuest } = await permissionsOf(cookie);
    const wrong: string[] = [];
    const isOpenFor = ({ url, permit }: PageUrl): boolean =>
      permit.split(' ').every((one) => one === 'none' || has(one)) && (!isGuest || permit === 'platform' || !url.includes('tenant_id='));
    const tried = share.casesOf(
      forms,
      (form) => `${name} ${form.name}`,
      (form) => String(isOpenFor(form)),
    );
    for (const form of tried) {
      const { name: operation, url, permit } = form;
      const isOpen = isOpenFor(form);
      const { status } = await openAs(cookie, url);
      if (status !== (isOpen ? 200 : 404)) wrong.push(`${operation} (${permit}) answers ${status}`);
    }
    assert.equal(wrong, []);
  });

/** The kinds of data without an id, because a tenant has only one of each, such as its settings. */
const WITHOUT_ID = ['guardrails'];

test('every element that a page marks with a kind also has an id; resource pages and search results are marked', async () => {
  const wrong: string[] = [];
  const search = { name: 'the search', url: `${p.base}/find?q=a`, permit: 'any' };
  for (const { name, url } of [...pages, search]) {
    const { text } = await openAs(p.cookie, url);
    const marked = [...text.matchAll(/<[^>]*\sdata-kind="([^"]+)"[^>]*>/g)].map(([element, kind]) => ({ element, kind: kind! }));
    const withoutId = marked.filter(({ element, kind }) => !/\sdata-id="[^"]/.test(element) && !WITHOUT_ID.includes(kind));
    wrong.push(...withoutId.map(({ kind }) => `${name}: ${kind} without an id`));
    const isOwn = ({ element }: { element: string }): boolean => element.includes(`data-id="${url.split('/').at(-1)}"`);
    if (/:\w+$/.test(name) && name.split('/').length > 4 && !marked.some(isOwn)) wrong.push(`${name} has no mark of its resource`);
    if (name === search.name && !marked.some(({ kind }) => kind === 'agent')) wrong.push('the results of the search have no marks');
  }
  assert.equal(wrong, []);
});

afterLastTest(close);

test.run();
