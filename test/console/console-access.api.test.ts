import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tokenOf } from '../../domain/event.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { formIn, submittedBy } from '../fixtures/html-form.ts';
import { addMember } from '../fixtures/users.ts';

type Access = { user_id: string; agent_id: string; labels: string[] };

const p = await startConsole();
const agents = [await createAgent(p, 'Reviewer'), await createAgent(p, 'Triage')];
const [reviewer] = agents as [string, string];
const people = {
  ADMIN: await addMember(p, 'ADMIN', p.tenant_id, 'grace@example.com'),
  MEMBER: await addMember(p, 'MEMBER', p.tenant_id, 'alan@example.com'),
  VIEWER: await addMember(p, 'MEMBER', p.tenant_id, 'barbara@example.com'),
  AUDITOR: await addMember(p, 'AUDITOR', p.tenant_id, 'radia@example.com'),
};
await p.send('PUT', `${p.tenant}/agents/${reviewer}/roles/${people.VIEWER.user_id}`, { body: { role: 'VIEWER' } });
await p.waitForProjections();

const sessions = {
  OWNER: p.cookie,
  ADMIN: await p.signIn(people.ADMIN.key),
  MEMBER: await p.signIn(people.MEMBER.key),
  VIEWER: await p.signIn(people.VIEWER.key),
  AUDITOR: await p.signIn(people.AUDITOR.key),
};
const submitForm = (path: string, fields: URLSearchParams) =>
  p.send('POST', path, {
    key: '',
    raw: fields.toString(),
    headers: { cookie: p.cookie, 'content-type': 'application/x-www-form-urlencoded', ...OWN_PAGE },
  });
type Visitor = keyof typeof sessions;

const event = p.eventsOf('AgentCreated')[0]!.event_id;
const AUDITED: readonly Visitor[] = ['OWNER', 'ADMIN', 'AUDITOR'];
const PAGES: Readonly<Record<string, readonly Visitor[]>> = {
  '/audit': AUDITED,
  [`/audit?entry=${event}`]: AUDITED,
  '/audit/heads': AUDITED,
  '/events': AUDITED,
  [`/events/${event}`]: AUDITED,
  '/access': AUDITED,
  [`/agents/${reviewer}/access`]: AUDITED,
  [`/agents/${reviewer}/access?user_id=${people.VIEWER.user_id}`]: AUDITED,
  '/members': ['OWNER', 'ADMIN', 'MEMBER', 'VIEWER', 'AUDITOR'],
  '/credentials': ['OWNER', 'ADMIN', 'MEMBER', 'VIEWER', 'AUDITOR'],
  '/api-keys': ['OWNER', 'ADMIN'],
};

/** Returns the paths of all forms of a page, and of its links to forms, that call an operation (/console/run/…). */
const changesIn = (text: string): string[] => [...text.matchAll(/(?:action|href)="(\/console\/run\/[^"?]+)/g)].map((found) => found[1]!);

test('each page of the console opens for exactly the roles that may read it; opening it makes no API call that is refused', async () => {
  await p.recordPending();
  const before = p.eventsOf('AccessRefused').length;
  for (const [path, allowed] of Object.entries(PAGES))
    for (const [visitor, session] of Object.entries(sessions)) {
      const { status, text } = await p.open(`${p.base}${path}`, session);
      assert.is(status, allowed.includes(visitor as Visitor) ? 200 : 404, `${visitor} ${path}`);
      assert.not.match(text, /data-problem/, `${visitor} ${path}`);
    }
  await p.recordPending();
  assert.is(p.eventsOf('AccessRefused').length, before);
});

test('the console shows forms for changes to an OWNER, but not to an AUDITOR', async () => {
  for (const [path, allowed] of Object.entries(PAGES)) {
    if (!allowed.includes('AUDITOR')) continue;
    assert.equal(changesIn((await p.open(`${p.base}${path}`, sessions.AUDITOR)).text), [], path);
  }
  assert.ok(changesIn((await p.open(`${p.base}/members`)).text).length > 3);
  assert.ok(changesIn((await p.open(`${p.base}/api-keys`)).text).length > 1);
  assert.ok(changesIn((await p.open(`${p.base}/access?grid=asked&VIEWER=View`)).text).includes('/console/run/changeRolePermissions'));
});

test('every link to a form on the access pages opens the form', async () => {
  for (const path of Object.keys(PAGES)) {
    const { text } = await p.open(`${p.base}${path}`);
    const links = [...text.matchAll(/href="(\/console\/run\/[^"]+)"/g)].map((found) => found[1]!.replaceAll('&amp;', '&'));
    for (const link of new Set(links)) assert.is((await p.open(link)).status, 200, link);
  }
});

test('every cell of the access matrix in the console matches the effective permissions from the API', async () => {
  const cells = (await p.send('GET', `${p.tenant}/effective-permissions?limit=200`)).body as Access[];
  const { text } = await p.open(`${p.base}/access`);
  const merged = [...text.matchAll(/data-kind="access-all" data-id="(\w+)"/g)].map((found) => found[1]!);
  const owners = new Set(cells.filter(({ labels }) => labels.length === 9).map(({ user_id }) => user_id));
  assert.equal([...merged].sort(), [...owners].sort(), 'OWNERs and ADMINs have one cell');
  const shown = [...text.matchAll(/data-kind="access" data-id="(\w+) (\w+)" data-labels="([^"]*)"/g)].map(
    ([, user_id, agent_id, labels]) => ({
      user_id,
      agent_id,
      labels: labels === '' ? [] : labels!.split('|'),
    }),
  );
  const byPair = (one: object) => JSON.stringify(one);
  assert.is(cells.length, 5 * 2);
  const others = cells.filter(({ user_id }) => !owners.has(user_id));
  assert.equal(shown.map(byPair).sort(), others.map(({ user_id, agent_id, labels }) => byPair({ user_id, agent_id, labels })).sort());
});

const answersIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [
      ...text.matchAll(/data-kind="answer" data-id="([\w: ]+)" data-allowed="(true|false)"([\s\S]*?)(?=data-kind="answer"|<\/section>)/g),
    ].flatMap(([, ids, allowed, rest]) => ids!.split(' ').map((id) => [`${id} ${allowed}`, rest!])),
  );

test('the explainer names the reasons and the deciding event for a granted permission, and the simplest changes that would grant a denied one', async () => {
  const { user_id } = people.VIEWER;
  const { text } = await p.open(`${p.base}/agents/${reviewer}/access?user_id=${user_id}`);
  const found = answersIn(text);
  const assigned = p.eventsOf('AgentRoleAssigned').find(({ data }) => (data as { user_id: string }).user_id === user_id)!;
  assert.match(found['agent:read true']!, new RegExp(`/events/${assigned.event_id}"[^>]*>VIEWER, given by Administrator</a>`));
  assert.match(found['agent:read true']!, /class="gives"[\s\S]*?Role on the agent: [\s\S]*?VIEWER/);
  const no = found['agent:settings:write false']!;
  assert.match(no, /No event gave it/);
  assert.match(
    no,
    /Nearest ways to a yes[\s\S]*Grant the access EDITOR[\s\S]*Give the role MANAGER[\s\S]*in the grid[\s\S]*ADMIN of the tenant/,
  );
  const one = await p.open(`${p.base}/agents/${reviewer}/access?user_id=${user_id}&label=View`);
  assert.equal(Object.keys(answersIn(one.text)), ['agent:read true']);
});

test('each change that the explainer suggests for a denied permission indeed grants it', async () => {
  const { user_id } = people.MEMBER;
  const labels = ((await p.send('GET', `${p.tenant}/agent-role-permissions`)).body as { roles: { OWNER: string[] } }).roles.OWNER;
  const { text } = await p.open(`${p.base}/agents/${reviewer}/access?user_id=${user_id}`);
  const ways = Object.values(answersIn(text)).map((rest) => [...rest.matchAll(/<li><span>([^<]+)<\/span>/g)].map((way) => way[1]!));
  assert.is(ways.length, labels.length);
  assert.ok(new Set(Object.values(answersIn(text))).size < labels.length, 'equal answers are one');
  for (const [index, label] of labels.entries())
    for (const way of ways[index]!) {
      const role = /^Give the role (\w+)/.exec(way)?.[1];
      const grant = /^Grant the access (\w+)/.exec(way)?.[1];
      const change = role ? { agent_id: reviewer, role } : grant ? { agent_id: reviewer, grant } : { tenant_role: 'ADMIN' };
      const preview = await p.send('POST', `${p.tenant}/effective-permissions/preview`, { body: [{ user_id, ...change }] });
      const gained = (preview.body as { agent_id: string; gained: string[] }[]).find(({ agent_id }) => agent_id === reviewer)?.gained;
      assert.ok(gained?.includes(label), `${label}: ${way}`);
    }
});

test('as of the position just before the event that granted a permission, the explainer shows the permission as denied', async () => {
  const { user_id } = people.VIEWER;
  const index = p.log.events.findIndex(
    ({ type, data }) => type === 'AgentRoleAssigned' && (data as { user_id: string }).user_id === user_id,
  );
  const answerAt = async (at: number) => {
    const as_of = encodeURIComponent(tokenOf(p.log.events[at]!.position));
    const { text } = await p.open(`${p.base}/agents/${reviewer}/access?user_id=${user_id}&as_of=${as_of}`);
    assert.equal(changesIn(text), [], 'a page that shows the past has no forms');
    return Object.keys(answersIn(text));
  };
  assert.ok((await answerAt(index)).includes('agent:read true'));
  assert.ok((await answerAt(index - 1)).includes('agent:read false'));
});

test('the what-if page shows who would gain or lose which permissions, appends no event, and links to the form that makes the change', async () => {
  const { user_id } = people.MEMBER;
  const before = p.log.events.length;
  const { text } = await p.open(`${p.base}/agents/${reviewer}/access?user_id=${user_id}&role=MANAGER`);
  assert.match(text, new RegExp(`data-kind="difference" data-id="${user_id} ${reviewer}"[\\s\\S]*\\+ View, Chat`));
  assert.match(text, new RegExp(`/console/run/assignAgentRole\\?[^"]*user_id=${user_id}`));
  const whole = await p.open(`${p.base}/access?user_id=${user_id}&tenant_role=ADMIN`);
  assert.is([...whole.text.matchAll(/data-kind="difference"/g)].length, 2, 'an ADMIN gains on every agent');
  const owner = p.eventsOf('MemberAdded').find(({ data }) => (data as { role: string }).role === 'OWNER')!.data as { user_id: string };
  assert.match((await p.open(`${p.base}/access?user_id=${owner.user_id}&tenant_role=none`)).text, /data-problem[\s\S]+OWNER/);
  assert.is(p.log.events.length, before);
});

test('the grid says who would gain and lose what before it is saved; a preview appends nothing; an AUDITOR sees no boxes', async () => {
  const grid = (await p.send('GET', `${p.tenant}/agent-role-permissions`)).body as { roles: Record<string, string[]> };
  const [extra] = grid.roles.OWNER!.filter((one) => !grid.roles.VIEWER!.includes(one));
  const boxes = new URLSearchParams([['grid', 'asked'], ...[...grid.roles.VIEWER!, extra!].map((one) => ['VIEWER', one])]);
  for (const one of grid.roles.MANAGER!) boxes.append('MANAGER', one);
  const before = p.log.events.length;
  const { text } = await p.open(`${p.base}/access?${boxes}`);
  assert.match(
    text,
    new RegExp(`data-kind="difference" data-id="${people.VIEWER.user_id} ${reviewer}"[\\s\\S]*?\\+ ${extra!.replace(/[()]/g, '\\$&')}`),
  );
  assert.is([...text.matchAll(/data-kind="difference"/g)].length, 1);
  assert.is(p.log.events.length, before);
  const saved = await submitForm('/console/run/changeRolePermissions', submittedBy(formIn(text, 'changeRolePermissions')));
  assert.is(saved.status, 303, saved.text);
  const now = (await p.send('GET', `${p.tenant}/agent-role-permissions`)).body as { roles: Record<string, string[]> };
  assert.equal(now.roles.VIEWER!.toSorted(), [...grid.roles.VIEWER!, extra!].toSorted());
  assert.equal(now.roles.MANAGER!.toSorted(), grid.roles.MANAGER!.toSorted());
  const late = await submitForm('/console/run/changeRolePermissions', submittedBy(formIn(text, 'changeRolePermissions')));
  assert.ok([303, 412].includes(late.status));
  const seen = (await p.open(`${p.base}/access?${boxes}`, sessions.AUDITOR)).text;
  assert.not.match(seen, /type="checkbox"|changeRolePermissions/);
  await p.send('PUT', `${p.tenant}/agent-role-permissions`, { body: { roles: grid.roles } });
});

test('the list of members says why the only OWNER cannot be removed, instead of offering it', async () => {
  const { text } = await p.open(`${p.base}/members`);
  const owner = p.eventsOf('MemberAdded').find(({ data }) => (data as { role: string }).role === 'OWNER')!.data as { user_id: string };
  const row = text.slice(text.indexOf(`data-id="${owner.user_id}"`)).split('</tr>')[0]!;
  assert.match(row, /The only OWNER: make another member OWNER first/);
  assert.not.match(row, /run\/removeMember/);
});

test("the list of API keys shows each key's last use with the IP address, its restrictions and its expiry", async () => {
  await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'Dashboards', role: 'AUDITOR', read_only: true } });
  await p.waitForProjections();
  const { text } = await p.open(`${p.base}/api-keys`);
  assert.match(text, /Dashboards[\s\S]*Administrator[\s\S]*AUDITOR, read only[\s\S]*never/);
  assert.match(text, /run\/revokeApiKey/);
});

afterLastTest(() => p.close());

test.run();
