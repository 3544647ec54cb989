import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const BLACKOUTS = `${p.tenant}/cron-blackouts`;
const agent = ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).body as { id: string }).id;
const fields = (more: Json = {}): Json => ({ name: 'Holidays', start_date: '2126-12-24', end_date: '2127-01-01', ...more });
const declare = (more: Json = {}): Promise<Answer> => p.send('POST', BLACKOUTS, { body: fields(more) });
const declared = async (more: Json = {}): Promise<Json> => (await declare(more)).body as Json;
const patch = (id: unknown, body: Json): Promise<Answer> => p.send('PATCH', `${BLACKOUTS}/${id}`, { body });
const pointerOf = ({ body }: Answer) => (body as { errors: { pointer: string }[] }).errors[0]!.pointer;

test('a new blackout is returned by its id and in the list with the content that was sent', async () => {
  const answer = await declare({ reason: 'The office is closed', timezone: 'Europe/Berlin', recurring_yearly: true, agent_id: agent });
  assert.is(answer.status, 201);
  const blackout = answer.body as Json;
  assert.is(answer.headers.get('location'), `${BLACKOUTS}/${blackout.id}`);
  assert.equal(
    [blackout.reason, blackout.timezone, blackout.recurring_yearly, blackout.agent_id],
    ['The office is closed', 'Europe/Berlin', true, agent],
  );
  assert.equal((await p.send('GET', `${BLACKOUTS}/${blackout.id}`)).body, blackout);
  assert.equal(((await p.send('GET', BLACKOUTS)).body as Json[])[0], blackout);
  const { agent_id, reason, timezone, recurring_yearly } = await declared();
  assert.equal([agent_id, reason, timezone, recurring_yearly], [null, null, 'UTC', false]);
  assert.is((await declared({ reason: '' })).reason, '');
});

test('creating a blackout is refused if it ends before it starts, or has an impossible date, an unknown time zone or an unknown agent', async () => {
  for (const [more, pointer] of [
    [{ end_date: '2126-12-23' }, '/end_date'],
    [{ start_date: '2126-02-29' }, '/start_date'],
    [{ start_date: '2126-12-24T00:00:00Z' }, '/start_date'],
    [{ timezone: 'Mars/Phobos' }, '/timezone'],
    [{ timezone: '+01:00' }, '/timezone'],
    [{ agent_id: `c${'0'.repeat(24)}` }, '/agent_id'],
    [{ reason: 'r'.repeat(1_025) }, '/reason'],
    [{ name: '' }, '/name'],
  ] as const) {
    const answer = await declare(more);
    assert.equal([answer.status, pointerOf(answer)], [422, pointer], JSON.stringify(more));
  }
  assert.is((await declare({ end_date: '2126-12-24' })).status, 201);
});

test('an update of a blackout changes the fields that it names, null resets a field, and repeating the update appends no event', async () => {
  const { id } = await declared({ reason: 'Why', agent_id: agent });
  const changed = (await patch(id, { reason: null, agent_id: null, end_date: '2127-01-06', name: null })).body as Json;
  assert.equal([changed.reason, changed.agent_id, changed.end_date, changed.name], [null, null, '2127-01-06', 'Holidays']);
  const start = p.log.events.length;
  assert.is((await patch(id, { end_date: '2127-01-06' })).status, 200);
  assert.is(p.log.events.length, start);
  const refused = await patch(id, { start_date: '2127-01-07' });
  assert.equal([refused.status, pointerOf(refused)], [422, '/end_date']);
});

test('reading a blackout gets 404 if it was removed or belongs to another tenant', async () => {
  const { id } = await declared();
  const other = await createSecondTenant(p);
  assert.is((await p.send('GET', `${other.tenant}/cron-blackouts/${id}`, { key: other.key })).status, 404);
  assert.is((await p.send('DELETE', `${BLACKOUTS}/${id}`)).status, 204);
  for (const answer of [await p.send('GET', `${BLACKOUTS}/${id}`), await patch(id, {}), await p.send('DELETE', `${BLACKOUTS}/${id}`)])
    assert.is(answer.status, 404);
});

test('a preview of a blackout lists the occurrences of active jobs that it would suppress, and appends no event', async () => {
  const jobs = `${p.tenant}/agents/${agent}/cron-jobs`;
  const target = { target_kind: 'internal_agent', target: agent };
  const daily = { name: 'Daily', kind: 'recurring', ...target, cron_expr: '30 23 * * *', timezone: 'America/New_York' };
  const { id } = (await p.send('POST', jobs, { body: daily })).body as Json;
  const paused = (await p.send('POST', jobs, { body: { ...daily, name: 'Paused' } })).body as Json;
  await p.send('POST', `${jobs}/${paused.id}/pause`);
  const start = p.log.events.length;
  const body = fields({ start_date: '2126-07-01', end_date: '2126-07-02', timezone: 'UTC' });
  const answer = await p.send('POST', `${BLACKOUTS}/preview`, { body });
  assert.is(answer.status, 200);
  assert.equal(answer.body, [
    { job_id: id, agent_id: agent, due_at: '2126-07-01T03:30:00.000Z' },
    { job_id: id, agent_id: agent, due_at: '2126-07-02T03:30:00.000Z' },
  ]);
  assert.is((await p.send('POST', `${BLACKOUTS}/preview`, { body: fields({ end_date: '2126-01-01' }) })).status, 422);
  assert.is(p.log.events.length, start);
});

test('a member does not see a blackout for an agent that the member may not see: it is not listed, counted or readable, and does not appear in previews', async () => {
  const { key, user_id } = await addMember(p, 'MEMBER');
  const hidden = await declared({ agent_id: agent });
  const shared = await declared();
  const read = (path: string) => p.send('GET', `${BLACKOUTS}${path}`, { key });
  const listedIds = async () => ((await read('?limit=200')).body as Json[]).map(({ id }) => id);
  const before = await listedIds();
  assert.equal([before.includes(hidden.id), before.includes(shared.id)], [false, true]);
  assert.is((await read('')).headers.get('total-count'), null);
  const token = (await p.send('GET', `${BLACKOUTS}/${hidden.id}`)).headers.get('projection-position')!;
  const unknown = await read(`/c${'0'.repeat(24)}`);
  for (const query of ['', `?as_of=${encodeURIComponent(token)}`]) assert.is((await read(`/${hidden.id}${query}`)).status, unknown.status);
  const preview = await p.send('POST', `${BLACKOUTS}/preview`, { key, body: fields({ agent_id: agent }) });
  assert.equal([preview.status, pointerOf(preview)], [422, '/agent_id']);
  await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${user_id}`, { body: { role: 'VIEWER' } });
  assert.ok((await listedIds()).includes(hidden.id));
  assert.is((await read(`/${hidden.id}`)).status, 200);
  assert.match((await p.send('GET', BLACKOUTS)).headers.get('total-count')!, /^\d+$/);
});

test.after(p.close);
test.run();
