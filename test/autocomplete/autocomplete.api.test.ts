// share
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tokenOf } from '../../domain/event.ts';
import { FORM_TYPE, formBody } from '../fixtures/form-body.ts';
import { createSessionPlatform, type Json } from '../fixtures/session-platform.ts';
import { openShare } from '../fixtures/share.ts';
import { addMember } from '../fixtures/users.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';
import { type Classes, compareTimings, type Difference } from '../fixtures/welch-t-test.ts';

type Item = { id: string; label: string; type: string; detail: string | null };

type Stored = {
  id: string;
  event_id: string;
  meta: { $correlationId: string };
  position: { commit: bigint; prepare: bigint };
};

const RUNS = 250;
const TRIES = 3;
/** A difference in time counts as a leak if it is significant and at least this fraction of the time of a search. */
const MIN_SHARE = 0.05;
const MAX_T_VALUE = 4.5;
const leaks = ({ t, share }: Difference): boolean => Math.abs(t) >= MAX_T_VALUE && share >= MIN_SHARE;

const share = openShare();
const p = await createSessionPlatform();
const post = async (path: string, body: object): Promise<Json> => {
  const answer = await p.send('POST', `${p.tenant}${path}`, { body });
  assert.ok(answer.status < 300, answer.text);
  return answer.body as Json;
};
const agents: Record<string, string> = {};
for (const name of ['Review', 'Code Review', 'Preview', 'Rewriter', 'Emil']) {
  agents[name] = String((await post('/agents', { name, slug: name.toLowerCase().replace(' ', '-') })).id);
}
await post('/skills', { name: 'Review code', slug: 'review-code', description: 'x', instructions: 'x', visibility: 'public' });
await post('/skills', { name: 'Review secrets', slug: 'review-secrets', description: 'x', instructions: 'x', visibility: 'private' });
await post('/tools', { name: 'review_pull', display_name: 'Pull reviewer', description: 'x', description_long: 'x' });
const session = await p.startSession({ title: 'Review of the release' });
const raw = formBody({ name: 'upload', filename: 'review-notes.txt', content: 'notes' });
const file = await p.send('POST', `${session}/attachments`, { key: p.agent.runner, raw, headers: { 'content-type': FORM_TYPE } });
assert.is(file.status, 201, file.text);
const member = await addMember(p, 'MEMBER', p.tenant_id, 'reviewer@example.com');
const connect = async (label: string) =>
  String((await post('/webhook-integrations', { provider: 'github', agent_id: agents.Emil, label, secret: SECRET })).id);
const [integration, unused] = [await connect('annals/inbox'), await connect('annals/unused')];
const payload = JSON.stringify({ zen: 'Keep it simple' });
const delivery = String(
  (
    (
      await p.send('POST', `/hooks/inbound/${integration}`, {
        key: '',
        raw: payload,
        headers: { 'x-github-event': 'push', 'x-github-delivery': crypto.randomUUID(), 'x-hub-signature-256': sign(payload) },
      })
    ).body as Json
  ).id,
);
const job = String(
  (
    await post(`/agents/${agents.Emil}/cron-jobs`, {
      name: 'Weekly report',
      kind: 'recurring',
      target_kind: 'internal_agent',
      target: agents.Emil,
      cron_expr: '0 9 * * MON',
    })
  ).id,
);
await p.waitForProjections();

const find = async (query: string, key = p.key): Promise<Item[]> => {
  const answer = await p.send('GET', `${p.tenant}/autocomplete?${query}`, { key });
  assert.is(answer.status, 200, answer.text);
  return answer.body as Item[];
};
const labels = async (query: string, key?: string): Promise<string[]> => (await find(query, key)).map(({ label }) => label);

test('the search lists items of all types: first those whose name starts with the search text, then those in which a later word starts with it', async () => {
  assert.equal(await labels('q=review'), [
    'Review',
    'Review code',
    'Review secrets',
    'review-notes.txt',
    'reviewer@example.com',
    'Review of the release',
    'Code Review',
    'Pull reviewer',
    'Preview',
  ]);
  assert.equal([...new Set((await find('q=review')).map(({ type }) => type))].sort(), [
    'agent',
    'file',
    'session',
    'skill',
    'tool',
    'user',
  ]);
});

test('searching for a complete id finds the agent, session, delivery or event with that id, but only if the caller may see it', async () => {
  const found = async (id: string, key?: string) => (await find(`q=${id}`, key)).map(({ id: one, type }) => [one, type]);
  const sessionId = session.split('/').at(-1)!;
  assert.equal(await found(agents.Emil!), [[agents.Emil, 'agent']]);
  assert.equal(await found(sessionId), [[sessionId, 'session']]);
  const event = p.eventsOf('AgentCreated')[0]!.event_id;
  assert.equal(await found(event), [[event, 'event']]);
  assert.equal(await found(integration), [[integration, 'integration']]);
  assert.equal(await find(`q=${job}`), [{ id: job, label: 'Weekly report', type: 'cron_job', detail: 'active', agent_id: agents.Emil }]);
  assert.equal(await found(delivery), [[delivery, 'delivery']]);
  assert.equal(await found(`c${'0'.repeat(24)}`), []);
  for (const id of [agents.Emil!, sessionId, event, job, delivery]) assert.equal(await found(id, member.key), []);
  assert.equal(await find(`q=${agents.Emil}&types=user`), []);
});

test('each item that the search finds has an id, a label and a detail, whatever its type', async () => {
  const of = async (type: string) => (await find(`q=review&types=${type}`))[0];
  assert.equal(await of('agent'), { id: agents.Review, label: 'Review', type: 'agent', detail: 'review' });
  assert.equal(await of('user'), { id: member.user_id, label: 'reviewer@example.com', type: 'user', detail: 'reviewer@example.com' });
  assert.equal([(await of('tool'))!.detail, (await of('skill'))!.detail], ['review_pull', 'review-code']);
  const sha256 = (file.body as Json).sha256;
  assert.equal(await of('file'), { id: sha256, label: 'review-notes.txt', type: 'file', detail: 'text/plain' });
  assert.equal(await of('session'), { id: session.split('/').at(-1), label: 'Review of the release', type: 'session', detail: 'running' });
});

test('the search ignores upper and lower case, matches a short text only at the start of a name, and treats wildcards as plain characters', async () => {
  assert.equal(await labels('q=REW&types=agent'), ['Rewriter']);
  assert.equal(await labels('q=r&types=agent'), ['Review', 'Rewriter']);
  assert.equal(await labels('q=ev&types=agent'), []);
  assert.equal(await labels('q=evi&types=agent'), ['Review', 'Preview', 'Code Review']);
  assert.equal([await labels('q=%25&types=agent'), await labels('q=___&types=agent')], [[], []]);
});

test('without a search text, the search lists the first items of each type; the limit applies to all types together', async () => {
  assert.is((await labels('types=agent')).length, 6);
  assert.equal((await labels('q=review&limit=2')).length, 2);
  assert.equal(await labels('q=review&types=agent,agent&limit=1'), ['Review']);
});

test('the search shows a member all tools and users of the tenant, but only those agents, sessions, files and skills that the member may read', async () => {
  assert.equal(await labels('q=review', member.key), ['Review code', 'reviewer@example.com', 'Pull reviewer']);
  await p.send('PUT', `${p.tenant}/agents/${agents.Preview}/roles/${member.user_id}`, { body: { role: 'VIEWER' } });
  await p.send('PUT', `${p.agent.path}/roles/${member.user_id}`, { body: { role: 'VIEWER' } });
  await p.waitForProjections();
  assert.equal(await labels('q=review&types=agent,session,file', member.key), ['review-notes.txt', 'Review of the release', 'Preview']);
});

test('the search shows an AUDITOR all agents and sessions, but no files', async () => {
  const { key } = await addMember(p, 'AUDITOR');
  assert.equal(await labels('q=review&types=agent,session,file', key), ['Review', 'Review of the release', 'Code Review', 'Preview']);
  assert.equal(await labels(`q=${session.split('/').at(-1)}`, key), ['Review of the release']);
});

test('the search finds integrations and cron jobs by their names; a member finds the cron jobs of agents that they may see', async () => {
  const [found] = await find('q=annals%2Fin');
  assert.equal(found, { id: integration, label: 'annals/inbox', type: 'integration', detail: 'github' });
  assert.equal(await labels('q=weekly'), ['Weekly report']);
  assert.equal(await labels('q=weekly', member.key), []);
  await p.send('DELETE', `${p.tenant}/webhook-integrations/${unused}`);
  await p.waitForProjections();
  assert.equal(await labels('q=unused'), []);
});

test('the id of a request finds its newest event, and a position the event there, but only for those who may read the audit log', async () => {
  const { meta, position } = p.eventsOf('AgentCreated')[0]! as unknown as Stored;
  const token = tokenOf(position);
  const found = async (id: string, key?: string) =>
    (await find(`q=${encodeURIComponent(id)}`, key)).map(({ id: one, type, label }) => [one, type, label]);
  assert.equal(await found(meta.$correlationId), [[meta.$correlationId, 'request', 'AgentCreated']]);
  assert.equal(await found(token), [[token, 'position', 'AgentCreated']]);
  assert.equal(await found(token.replace(/^./, (digit) => String((Number(digit) + 1) % 10))), []);
  for (const id of [meta.$correlationId, token]) assert.equal(await found(id, member.key), []);
  assert.equal(await find(`q=${meta.$correlationId}&types=event,agent`), []);
});

share.test('an id of another tenant finds nothing, and takes as long as an id that does not exist', async () => {
  const other = (await p.send('POST', '/admin/tenants', { body: { name: 'Other', slug: 'other', owner_email: 'far@example.com' } }))
    .body as Json;
  const { key } = await addMember(p, 'OWNER', String(other.id), 'owner@far.example.com');
  const made = await p.send('POST', `/tenant/${other.id}/agents`, { key, body: { name: 'Foreign', slug: 'foreign' } });
  assert.is(made.status, 201, made.text);
  await p.waitForProjections();
  const { event_id, meta, position, id } = p.eventsOf('AgentCreated').at(-1)! as unknown as Stored;
  const uuid = () => crypto.randomUUID();
  const pairs: Record<string, readonly [foreign: string, invented: () => string]> = {
    agent: [id, () => `c${uuid().replaceAll('-', '').slice(0, 24)}`],
    event: [event_id, uuid],
    request: [meta.$correlationId, uuid],
    position: [tokenOf(position), () => `9${Math.floor(Math.random() * 1e9)}:9${Math.floor(Math.random() * 1e9)}`],
  };
  for (const [type, [foreign, invented]] of Object.entries(pairs))
    for (const text of [foreign, invented()]) assert.equal(await find(`q=${encodeURIComponent(text)}`), [], type);
  for (const [type, [foreign, invented]] of share.casesOf(Object.entries(pairs), ([type]) => type)) {
    const classes: Classes<string> = [[foreign], Array.from({ length: 64 }, invented)];
    const measured: Difference[] = [];
    do measured.push(await compareTimings((text) => find(`q=${encodeURIComponent(text)}&types=${type}`), classes, RUNS));
    while (leaks(measured.at(-1)!) && measured.length < TRIES);
    console.log(`${type}: ${measured.map(({ t, share }) => `t = ${t.toFixed(1)} (${(share * 100).toFixed(1)} %)`).join(', ')}`);
    assert.not(leaks(measured.at(-1)!), type);
  }
});

test('the search does not find deleted agents', async () => {
  await p.send('DELETE', `${p.tenant}/agents/${agents.Rewriter}`);
  await p.waitForProjections();
  assert.equal(await labels('q=rewriter'), []);
});

test('the search does not find removed members', async () => {
  await p.send('DELETE', `${p.tenant}/members/${member.user_id}`);
  await p.waitForProjections();
  assert.equal(await labels('q=reviewer&types=user'), []);
});

test('files of mail are found like those of sessions, once per content, and only by callers who may read the mail', async () => {
  const path = `${p.tenant}/agents/${agents.Emil}`;
  const { id } = (await post(`/agents/${agents.Emil}/mail`, { to: ['emil.demo@mail.test'], subject: 'S', text: 'T' })) as { id: string };
  const attach = (content: string) =>
    p.send('POST', `${path}/messages/${id}/attachments`, {
      raw: formBody({ name: 'file', filename: 'invoice-of-june.pdf', content }),
      headers: { 'content-type': FORM_TYPE },
    });
  for (const content of ['one', 'two', 'two']) assert.is((await attach(content)).status, 201);
  assert.equal(await labels('q=invoice&types=file'), ['invoice-of-june.pdf', 'invoice-of-june.pdf']);
  assert.equal(await labels('q=of-june&types=file'), ['invoice-of-june.pdf', 'invoice-of-june.pdf']);
  const stranger = await addMember(p, 'MEMBER', p.tenant_id, 'stranger@example.com');
  assert.equal(await labels('q=invoice', stranger.key), []);
});

test('a search is refused if it has an unknown type, an empty list of types or a limit out of range', async () => {
  for (const query of ['types=agents', 'types=', 'types=agent,', 'limit=0', 'limit=201', `q=${'x'.repeat(256)}`, 'sort=name'])
    assert.is((await p.send('GET', `${p.tenant}/autocomplete?${query}`)).status, 422, query);
});

test.run();
