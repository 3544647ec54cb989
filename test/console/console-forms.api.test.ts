import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operationsOf } from '../../api/areas.ts';
import { isRead } from '../../api/http/operation.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, OWN_PAGE, startConsole } from '../fixtures/console-platform.ts';
import { formIn, submittedBy } from '../fixtures/html-form.ts';
import { addMember } from '../fixtures/users.ts';

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer');
const ofTenant = `tenant_id=${p.tenant_id}`;
const ofAgent = `${ofTenant}&agent_id=${agent}`;

/** Opens the form of an operation and fills in these values. @returns the fields that the browser would send */
const fill = async (operation: string, query: string, typed: Record<string, string> = {}, session?: string) => {
  const { status, text } = await p.open(`/console/run/${operation}?${query}`, session);
  assert.is(status, 200, `${operation} ${text.slice(0, 300)}`);
  const fields = submittedBy(formIn(text, operation), typed);
  for (const [name, value] of Object.entries(typed)) if (!fields.has(name)) fields.append(name, value);
  return fields;
};

const submit = (operation: string, fields: URLSearchParams, headers = OWN_PAGE) =>
  p.send('POST', `/console/run/${operation}`, {
    key: '',
    raw: fields.toString(),
    headers: { cookie: p.cookie, 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });

/** Adds the name and value of a pressed button to the fields of a form, as a browser does. */
const withField = (fields: URLSearchParams, name: string, value: string): URLSearchParams =>
  new URLSearchParams([...fields, [name, value]]);

const agentNow = async () => (await p.send('GET', `${p.tenant}/agents/${agent}`)).body as Record<string, unknown>;

test('submitting a form that creates a resource leads to the page of the resource, which shows it at once', async () => {
  const answer = await submit('createAgent', await fill('createAgent', ofTenant, { '/name': 'Triage', '/slug': 'triage' }));
  assert.is(answer.status, 303, answer.text);
  const location = answer.headers.get('location')!;
  assert.match(location, new RegExp(`^${p.base}/agents/c\\w{24}\\?after=\\d+:\\d+$`));
  assert.match((await p.open(location)).text, /<h1[^>]*>.*Triage/);
});

test('the page of a form reads each resource only once, even if it shows both its values and its name', async () => {
  const pathsIn = (html: string): string[] =>
    [...html.matchAll(/<code>GET<\/code><code class="grow">([^<]+)<\/code>/g)].map(([, path]) => path!);
  const { text } = await p.open(`/console/run/updateAgent?${ofAgent}`);
  assert.match(text, /About <strong>Reviewer<\/strong>/);
  const paths = pathsIn(text);
  assert.ok(paths.includes(`${p.tenant}/agents/${agent}`), paths.join('\n'));
  assert.equal(paths, [...new Set(paths)]);
});

test('a form that is submitted twice takes effect only once', async () => {
  const fields = await fill('createAgent', ofTenant, { '/name': 'Once', '/slug': 'once' });
  const [first, second] = [await submit('createAgent', fields), await submit('createAgent', fields)];
  assert.equal([first.status, second.status], [303, 303]);
  assert.is(second.headers.get('location')!.split('?')[0], first.headers.get('location')!.split('?')[0]);
});

test('if a field of a form is invalid, its message is shown beside it, and all input is kept', async () => {
  const answer = await submit('createAgent', await fill('createAgent', ofTenant, { '/name': 'Bad <name>', '/slug': 'kept-slug' }));
  assert.is(answer.status, 422);
  assert.match(answer.text, /data-pointer="\/name"[\s\S]+value="Bad &lt;name&gt;"[\s\S]+class="field-error"/);
  assert.match(answer.text, /value="kept-slug"/);
  assert.match(answer.text, /href="#f-name"/);
  const corrected = submittedBy(formIn(answer.text, 'createAgent'), { '/name': 'Good name' });
  assert.is((await submit('createAgent', corrected)).status, 303);
});

test('a duration beyond its limit is reported in units that people read, above the form and at its field', async () => {
  const integration = await createIntegration(p, agent, 'Rotated');
  const typed = { '/overlap_seconds': '8', '_unit/overlap_seconds': 'days' };
  const answer = await submit('rotateWebhookSecret', await fill('rotateWebhookSecret', `${ofTenant}&id=${integration}`, typed));
  assert.is(answer.status, 422);
  assert.is(answer.text.match(/must be between 0 seconds and 7 days/g)?.length, 2);
  assert.not.match(answer.text, /604800/);
});

test('if the API refuses a form without naming a field, the error is shown above the form, and all input is kept', async () => {
  const answer = await submit('createAgent', await fill('createAgent', ofTenant, { '/name': 'Again', '/slug': 'reviewer' }));
  assert.is(answer.status, 409);
  assert.match(answer.text, /data-problem[\s\S]+value="Again"/);
});

test('a form shows the present values, and submits only the fields that were changed', async () => {
  const before = p.eventsOf('AgentUpdated').length;
  const answer = await submit('updateAgent', await fill('updateAgent', ofAgent, { '/description': 'Reads diffs' }));
  assert.is(answer.headers.get('location')!.split('?')[0], `${p.base}/agents/${agent}`);
  const events = p.eventsOf('AgentUpdated').slice(before);
  assert.equal(
    events.map(({ data }) => data),
    [{ ...(events[0]!.data as object), description: 'Reads diffs' }],
  );
  assert.match((await p.open(`/console/run/updateAgent?${ofAgent}`)).text, /Reads diffs/);
});

test('if a resource was changed since its form was opened, submitting shows three columns (yours, theirs and before), and the corrected form is saved', async () => {
  const [one, other] = [
    await fill('updateAgent', ofAgent, { '/description': 'From one tab' }),
    await fill('updateAgent', ofAgent, { '/description': 'From another tab', '/initial_greeting': 'Hello' }),
  ];
  assert.is((await submit('updateAgent', one)).status, 303);
  const conflict = await submit('updateAgent', other);
  assert.is(conflict.status, 412);
  assert.match(
    conflict.text,
    /data-conflict[\s\S]+You, in another window[\s\S]+data-field="description"[\s\S]+From another tab[\s\S]+From one tab[\s\S]+Reads diffs/,
  );
  const again = submittedBy(formIn(conflict.text, 'updateAgent'));
  assert.is((await submit('updateAgent', again)).status, 303);
  const { description, initial_greeting } = await agentNow();
  assert.equal([description, initial_greeting], ['From another tab', 'Hello']);
});

test('if two people change a field to the same value, the second submission counts as saved', async () => {
  const forms = [
    await fill('updateAgent', ofAgent, { '/description': 'Same' }),
    await fill('updateAgent', ofAgent, { '/description': 'Same' }),
  ];
  for (const form of forms) assert.is((await submit('updateAgent', form)).status, 303);
});

test('a one-time secret is shown only in the response to the request that created the secret', async () => {
  const fields = await fill('createApiKey', ofTenant, { '/name': 'CI' });
  const answer = await submit('createApiKey', fields);
  assert.is(answer.status, 200);
  const [key = ''] = /ann_[0-9A-Za-z]{8}_[0-9A-Za-z]{38}/.exec(answer.text) ?? [];
  assert.ok(key, 'the page shows the key');
  assert.is(answer.headers.get('cache-control'), 'no-store');
  const again = await submit('createApiKey', fields);
  assert.match(again.text, /Already shown/);
  assert.not.ok(again.text.includes(key));
});

test('if a form is shown again for correction, it does not contain the secret that was typed', async () => {
  const typed = { '/provider': 'github', '/agent_id': agent, '/label': '', '/secret': 'my-own-secret-value' };
  const answer = await submit('connectWebhookIntegration', await fill('connectWebhookIntegration', ofTenant, typed));
  assert.is(answer.status, 422);
  assert.not.match(answer.text, /my-own-secret-value/);
});

test('a link can fill in the fields of a form, except secrets', async () => {
  const { text } = await p.open(
    `/console/run/connectWebhookIntegration?${ofTenant}&provider=github&label=docs&agent_id=${agent}&secret=abc-leak`,
  );
  assert.match(text, /value="docs"/);
  assert.match(text, new RegExp(`<option value="${agent}" selected[^>]*>Reviewer`));
  assert.not.match(text.replaceAll(/return_to" value="[^"]*"/g, ''), /abc-leak/);
});

test('without JavaScript, entries of a list field in a form can be added, removed and moved', async () => {
  const added = await submit('replaceGuardrails', await fill('replaceGuardrails', ofTenant, { _add: '/' }));
  assert.is(added.status, 200);
  const rule = { '/0/name': 'no-keys', '/0/kind': 'pattern', '/0/action': 'block', '/0/options/pattern': 'AKIA[0-9A-Z]{16}' };
  const second = await submit('replaceGuardrails', withField(submittedBy(formIn(added.text, 'replaceGuardrails'), rule), '_add', '/'));
  const typed = { '/1/name': 'small', '/1/kind': 'size', '/1/action': 'block', '/1/options/max_bytes': '1000' };
  const both = submittedBy(formIn(second.text, 'replaceGuardrails'), typed);
  const moved = await submit('replaceGuardrails', withField(both, '_up', '/1'));
  const saved = await submit('replaceGuardrails', submittedBy(formIn(moved.text, 'replaceGuardrails')));
  assert.is(saved.status, 303, saved.text);
  const rules = (await p.send('GET', `${p.tenant}/guardrails`)).body as { name: string }[];
  assert.equal(
    rules.map(({ name }) => name),
    ['small', 'no-keys'],
  );
  const shown = await fill('replaceGuardrails', ofTenant);
  const removed = await submit('replaceGuardrails', withField(shown, '_remove', '/0'));
  assert.is((await submit('replaceGuardrails', submittedBy(formIn(removed.text, 'replaceGuardrails')))).status, 303);
  assert.is(((await p.send('GET', `${p.tenant}/guardrails`)).body as unknown[]).length, 1);
});

test("submitting the form of an operation that appends no event shows the operation's response above the form", async () => {
  const answer = await submit('testRedactionPatterns', await fill('testRedactionPatterns', ofTenant, { '/text': 'mail ada@example.com' }));
  assert.is(answer.status, 200, answer.text);
  assert.match(answer.text, /class="card answer"/);
});

test('a delivery can be sent again with the form on its page', async () => {
  const integration = await createIntegration(p, agent);
  const { id } = (await deliver(p, integration, 'push', { a: 1 })) as { id: string };
  const answer = await submit('redeliverDelivery', await fill('redeliverDelivery', `${ofTenant}&delivery_id=${id}`));
  assert.is(answer.status, 303, answer.text);
  assert.match(answer.headers.get('location')!, new RegExp(`/deliveries/${id}`));
});

test('a form names the resource that it changes or, if there is none, the nearest parent resource', async () => {
  const subjectOf = async (operation: string, query: string) =>
    /<p class="form-subject">About <strong>([^<]*)<\/strong>/.exec((await p.open(`/console/run/${operation}?${query}`)).text)?.[1];
  const named = `${ofTenant}&agent_id=${await createAgent(p, 'Named and shown')}`;
  for (const operation of ['deleteAgent', 'updateAgent', 'createCronJob', 'linkAgentRepo'])
    assert.is(await subjectOf(operation, named), 'Named and shown', operation);
  assert.is(await subjectOf('createAgent', ofTenant), undefined);
});

test('after a resource is deleted by its form, the browser is led to the parent page', async () => {
  const id = await createAgent(p, 'Short lived');
  const answer = await submit('deleteAgent', await fill('deleteAgent', `${ofTenant}&agent_id=${id}`));
  assert.equal([answer.status, answer.headers.get('location')!.split('?')[0]], [303, `${p.base}/agents`]);
});

/** Opens a page and presses the button on it that calls this operation. */
const press = async (path: string, operation: string) => {
  const form = formIn((await p.open(path)).text, operation);
  assert.ok(form, `${path} has no button for ${operation}`);
  return submit(operation, submittedBy(form));
};

test('an agent can be paused and activated by the buttons on its page', async () => {
  const path = `${p.base}/agents/${agent}`;
  assert.is((await press(path, 'updateAgent')).headers.get('location')!.split('?')[0], path);
  assert.is((await agentNow()).is_active, false);
  await press(path, 'updateAgent');
  assert.is((await agentNow()).is_active, true);
});

test('a favorite is marked in the list of agents, which then lists it alone on the tab of favorites', async () => {
  const id = await createAgent(p, 'Zz last by name');
  await createAgent(p, 'Newer');
  const namesIn = (text: string) => [...text.matchAll(/data-kind="agent" data-id="(\w+)"/g)].map((found) => found[1]);
  const fields = new URLSearchParams({ ':tenant_id': p.tenant_id, ':agent_id': id, _return: `${p.base}/agents` });
  const marked = await submit('favoriteAgent', fields);
  assert.ok(namesIn((await p.open(marked.headers.get('location')!)).text).length > 1);
  assert.equal(namesIn((await p.open(`${p.base}/agents?favorite=true`)).text), [id]);
});

const addModel = async (slug: string): Promise<string> => {
  const { status, body, text } = await p.send('POST', '/admin/models', {
    body: { provider: 'acme', slug, name: `Model ${slug}`, available_to_all_tenants: true },
  });
  assert.is(status, 201, text);
  return (body as { id: string }).id;
};

test('a button moves a model up in the chain', async () => {
  const [one, other] = [await addModel('one'), await addModel('other')];
  const chain = `${p.tenant}/agents/${agent}/models`;
  await p.send('PUT', chain, { body: { model_ids: [one, other] } });
  assert.is((await press(`${p.base}/agents/${agent}`, 'reorderModelChain')).status, 303);
  const models = (await p.send('GET', chain)).body as { model_id: string }[];
  assert.equal(
    models.map(({ model_id }) => model_id),
    [other, one],
  );
  const fields = await fill('reorderModelChain', ofAgent);
  assert.equal(fields.getAll('/model_ids').slice(0, 2), [other, one], 'the form shows the present chain');
});

test('a runner key can be created, listed and revoked on the runner tab of an agent', async () => {
  const path = `${p.base}/agents/${agent}/runner`;
  const made = await submit('createRunnerKey', await fill('createRunnerKey', `${ofAgent}&return_to=${path}`, { '/name': 'laptop' }));
  assert.match(made.text, /ann_[0-9A-Za-z]{8}_/);
  const [, id] = /laptop[\s\S]+?revokeRunnerKey\?[^"]*&amp;id=(\w+)/.exec((await p.open(path)).text)!;
  const query = `${ofAgent}&id=${id}&return_to=${path}`;
  assert.match((await p.open(`/console/run/revokeRunnerKey?${query}`)).text, /About <strong>laptop/, 'the form names the key');
  await submit('revokeRunnerKey', await fill('revokeRunnerKey', query));
  assert.match((await p.open(path)).text, /No runner keys/);
});

test('the form of an operation that the visitor may not call gets 404; so does a form of a read or of an unknown operation', async () => {
  const member = await p.signIn((await addMember(p, 'MEMBER', p.tenant_id, 'forms@example.com')).key);
  const urls = [`inviteMember?${ofTenant}`, `updateAgent?${ofAgent}`, `listAgents?${ofTenant}`, `constructor?${ofTenant}`];
  for (const url of urls) assert.is((await p.open(`/console/run/${url}`, member)).status, 404, url);
  const fields = await fill('inviteMember', ofTenant, { '/email': 'not-mine@example.com' });
  const answer = await p.send('POST', '/console/run/inviteMember', {
    key: '',
    raw: fields.toString(),
    headers: { cookie: member, 'content-type': 'application/x-www-form-urlencoded', ...OWN_PAGE },
  });
  assert.is(answer.status, 404);
});

test('a form that another site submits is refused and changes nothing', async () => {
  const fields = await fill('updateAgent', ofAgent, { '/description': 'Forged' });
  for (const headers of [
    { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' },
    { origin: '', 'sec-fetch-site': 'same-site' },
  ])
    assert.is((await submit('updateAgent', fields, headers)).status, 403);
  assert.is.not((await agentNow()).description, 'Forged');
});

test('each operation that changes something in a tenant has a form that the OWNER can open', async () => {
  const operations = Object.entries(operationsOf({} as never)).filter(
    ([, row]) =>
      !isRead(row) && typeof row.permit === 'string' && row.permit.startsWith('tenant:') && /^\/tenant\/:tenant_id\/[\w-]+$/.test(row.path),
  );
  assert.ok(operations.length > 15);
  for (const [operation] of operations) assert.is((await p.open(`/console/run/${operation}?${ofTenant}`)).status, 200, operation);
});

afterLastTest(async () => {
  await p.close();
});

test.run();
