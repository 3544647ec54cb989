import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const createAgent = async (slug: string): Promise<string> =>
  ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug } })).body as { id: string }).id;
const agent = await createAgent('scheduled');
const JOBS = `${p.tenant}/agents/${agent}/cron-jobs`;

const fields = (more: Json = {}): Json => ({
  name: 'Report',
  kind: 'recurring',
  target_kind: 'internal_agent',
  target: agent,
  cron_expr: '0 9 * * *',
  ...more,
});
const create = (more: Json = {}): Promise<Answer> => p.send('POST', JOBS, { body: fields(more) });
const created = async (more: Json = {}): Promise<Json> => {
  const answer = await create(more);
  assert.is(answer.status, 201, answer.text);
  return answer.body as Json;
};
const patch = (id: unknown, body: Json): Promise<Answer> => p.send('PATCH', `${JOBS}/${id}`, { body });
const act = (id: unknown, action: string): Promise<Answer> => p.send('POST', `${JOBS}/${id}/${action}`);
const read = async (id: unknown, query = ''): Promise<Json> => (await p.send('GET', `${JOBS}/${id}${query}`)).body as Json;
const runs = async (id: unknown): Promise<Json[]> => (await p.send('GET', `${JOBS}/${id}/runs`)).body as Json[];
const issuesOf = ({ body }: Answer) => (body as { errors: { pointer: string; code: string }[] }).errors;
/**
 * Returns the types of the events after the first `index` events, without events about refused access, because these
 * are appended with a delay.
 */
const typesSince = (index: number) =>
  p.log.events
    .slice(index)
    .map(({ type }) => type)
    .filter((type) => type !== 'AccessRefused');
const external = { target_kind: 'external_url', target: 'https://example.com/hook' };
const inHours = (hours: number): string => new Date(p.clock.now() + hours * 3_600_000).toISOString();

test('a new job is next due as its schedule says; reading it by its id and in the list returns the same content as the response to its creation', async () => {
  const answer = await create({ timezone: 'Europe/Berlin' });
  assert.is(answer.status, 201);
  const job = answer.body as Json;
  assert.is(answer.headers.get('location'), `${JOBS}/${job.id}`);
  assert.equal(
    [job.status, job.created_by_user_id, job.max_retries, job.method],
    ['active', p.eventsOf('UserRegistered')[0]!.id, 3, 'POST'],
  );
  assert.equal([job.headers, job.retry_backoff, job.last_fired_at, job.last_status_code], [{}, 'exponential', null, null]);
  const due = Temporal.Instant.from(job.next_fire_at as string).toZonedDateTimeISO('Europe/Berlin');
  assert.equal([due.hour, due.minute], [9, 0]);
  assert.equal(await read(job.id), job);
  const list = (await p.send('GET', JOBS)).body as Json[];
  assert.equal(
    list.find(({ id }) => id === job.id),
    job,
  );
});

test('a one-shot job must have a time in the future, and a recurring job exactly one of expression, interval and daily time; other requests are refused', async () => {
  const one = { kind: 'one_shot', cron_expr: null };
  const refused: [Json, string][] = [
    [one, '/fire_at'],
    [{ ...one, fire_at: inHours(-1) }, '/fire_at'],
    [{ ...one, fire_at: inHours(1), cron_expr: '* * * * *' }, '/cron_expr'],
    [{ ...one, fire_at: inHours(1), interval_minutes: 5 }, '/interval_minutes'],
    [{ ...one, fire_at: inHours(1), schedule_type: 'daily' }, '/schedule_type'],
    [{ cron_expr: null }, '/cron_expr'],
    [{ interval_minutes: 5 }, '/interval_minutes'],
    [{ fire_at: inHours(1) }, '/fire_at'],
    [{ cron_expr: '61 * * * *' }, '/cron_expr'],
    [{ cron_expr: '0 0 30 2 *' }, '/cron_expr'],
    [{ cron_expr: null, schedule_type: 'daily' }, '/start_time'],
    [{ cron_expr: null, schedule_type: 'daily', start_time: '2026-05-01T00:00:00Z' }, '/start_time'],
    [{ schedule_type: 'daily', start_time: '09:00' }, '/cron_expr'],
    [{ start_time: '09:00' }, '/start_time'],
    [{ cron_expr: null, interval_minutes: 5, start_time: 'nine' }, '/start_time'],
    [{ timezone: 'Mars/Phobos' }, '/timezone'],
    [{ retry_backoff: 'sometimes' }, '/retry_backoff'],
    [{ max_retries: 11 }, '/max_retries'],
  ];
  const start = p.log.events.length;
  for (const [more, pointer] of refused) {
    const answer = await create(more);
    assert.equal([answer.status, issuesOf(answer)[0]!.pointer], [422, pointer], JSON.stringify(more));
  }
  assert.equal(typesSince(start), []);
  const fire_at = inHours(2);
  assert.is((await created({ ...one, fire_at })).next_fire_at, fire_at);
  assert.ok((await created({ cron_expr: null, schedule_type: 'daily', start_time: '09:00:30' })).next_fire_at);
  const interval = await created({ cron_expr: null, interval_minutes: 90 });
  assert.is(Date.parse(interval.next_fire_at as string) - Date.parse(interval.created_at as string), 90 * 60_000);
});

test("a job can call an agent of the tenant by its id or slug; to call another agent than the job's own, the caller needs agent:assign on that agent", async () => {
  const other = await createAgent('called');
  for (const target of [agent, 'scheduled', other, 'called']) assert.is((await create({ target })).status, 201);
  const unknown = await create({ target: 'nobody' });
  assert.equal(
    [unknown.status, issuesOf(unknown)[0]],
    [422, { pointer: '/target', code: 'unknown_agent', message: 'there is no such agent' }],
  );
  const { user_id, key } = await addMember(p, 'MEMBER');
  await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${user_id}`, { body: { role: 'MANAGER' } });
  assert.is((await p.send('POST', JOBS, { key, body: fields() })).status, 201);
  assert.is((await p.send('POST', JOBS, { key, body: fields({ target: 'called' }) })).status, 422);
  await p.send('PUT', `${p.tenant}/agents/${other}/roles/${user_id}`, { body: { role: 'VIEWER' } });
  assert.is((await p.send('POST', JOBS, { key, body: fields({ target: 'called' }) })).status, 403);
  const { id } = await created();
  assert.is((await p.send('PATCH', `${JOBS}/${id}`, { key, body: { target: other } })).status, 403);
});

test('secret headers of a job are stored encrypted and shown as ***; an update that sends *** for a header keeps its value', async () => {
  const job = await created({ ...external, headers: { 'X-Team': 'ops', Authorization: 'Bearer canary-of-headers' } });
  assert.equal(job.headers, { 'X-Team': 'ops', Authorization: '***' });
  assert.not.match(
    JSON.stringify(p.log.events, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    'canary-of-headers',
  );
  const start = p.log.events.length;
  assert.is((await patch(job.id, { headers: { 'X-Team': 'ops', Authorization: '***' } })).status, 200);
  assert.is((await patch(job.id, { headers: { 'X-Team': 'ops', Authorization: 'Bearer canary-of-headers' } })).status, 200);
  assert.equal(typesSince(start), []);
  assert.equal(((await patch(job.id, { headers: { Authorization: 'Bearer other' } })).body as Json).headers, { Authorization: '***' });
  assert.equal(((await patch(job.id, { headers: null })).body as Json).headers, {});
  const masked = await patch(job.id, { headers: { Authorization: '***' } });
  assert.equal([masked.status, issuesOf(masked)[0]!.pointer], [422, '/headers/Authorization']);
});

test('creating a job is refused if its headers are malformed, too many or too long, or include one that the HTTP client sets itself', async () => {
  const many = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`x-${index}`, 'v']));
  const bad: Json[] = [
    ...['Host', 'content-length', 'Transfer-Encoding', 'Connection', 'Proxy-Authorization', 'Idempotency-Key'].map((name) => ({
      [name]: 'v',
    })),
    ...['a\r\nb: c', 'a\nb', 'a\0', '€'].map((value) => ({ 'x-a': value })),
    ...['', 'x y', 'x:', 'x\r\n', 'é', 'x'.repeat(129)].map((name) => ({ [name]: 'v' })),
    { 'x-a': '1', 'X-A': '2' },
    { 'x-a': 'v'.repeat(8_190) },
    many,
  ];
  for (const headers of bad) assert.is((await create({ ...external, headers })).status, 422, JSON.stringify(headers).slice(0, 80));
  assert.is((await create({ ...external, headers: { 'x-a': 'v'.repeat(8_189) } })).status, 201);
});

test('an update of a job changes the fields that it names and the next due time; null clears or resets a field; repeating the update appends no event', async () => {
  const job = await created();
  const changed = (await patch(job.id, { cron_expr: null, interval_minutes: 10, max_retries: 0, name: 'Other' })).body as Json;
  assert.equal([changed.cron_expr, changed.interval_minutes, changed.max_retries, changed.name], [null, 10, 0, 'Other']);
  assert.not.equal(changed.next_fire_at, job.next_fire_at);
  assert.equal(await read(job.id), changed);
  const start = p.log.events.length;
  assert.is((await patch(job.id, { interval_minutes: 10, name: 'Other' })).status, 200);
  assert.equal(typesSince(start), []);
  assert.is(((await patch(job.id, { max_retries: null, name: null })).body as Json).max_retries, 3);
  assert.is((await patch(job.id, { interval_minutes: null })).status, 422);
  assert.is((await patch(job.id, { kind: 'one_shot' })).status, 422);
});

test('a paused job is not due, and a resumed job is next due in the future; pausing or resuming twice appends no second event', async () => {
  const job = await created();
  const start = p.log.events.length;
  const paused = (await act(job.id, 'pause')).body as Json;
  assert.equal([paused.status, paused.next_fire_at], ['paused', null]);
  await act(job.id, 'pause');
  const resumed = (await act(job.id, 'resume')).body as Json;
  assert.equal([resumed.status, resumed.next_fire_at], ['active', job.next_fire_at]);
  await act(job.id, 'resume');
  assert.equal(typesSince(start), ['CronJobPaused', 'CronJobResumed']);
  const once = await created({ kind: 'one_shot', cron_expr: null, fire_at: inHours(1) });
  await act(once.id, 'pause');
  const { now } = p.clock;
  p.clock.now = () => now() + 2 * 3_600_000;
  assert.is((await act(once.id, 'resume')).status, 409);
  p.clock.now = now;
});

test('skipping an occurrence is recorded, and the job is then due at the next occurrence; skipping the only occurrence of a one-shot job completes the job', async () => {
  const job = await created({ cron_expr: '0 * * * *' });
  const first = (await act(job.id, 'skip')).body as Json;
  const second = (await act(job.id, 'skip')).body as Json;
  const hours = [job, first, second].map(({ next_fire_at }) => Date.parse(next_fire_at as string) / 3_600_000);
  assert.equal([hours[1]! - hours[0]!, hours[2]! - hours[1]!], [1, 1]);
  assert.equal(
    (await runs(job.id)).map(({ decision, due_at, attempts }) => [decision, due_at, attempts]),
    [
      ['skipped', first.next_fire_at === undefined ? '' : new Date(hours[1]! * 3_600_000).toISOString(), []],
      ['skipped', job.next_fire_at, []],
    ],
  );
  const once = await created({ kind: 'one_shot', cron_expr: null, fire_at: inHours(1) });
  assert.equal([((await act(once.id, 'skip')).body as Json).status, (await read(once.id)).next_fire_at], ['completed', null]);
  assert.is((await act(once.id, 'skip')).status, 409);
});

test('the response to a skip shows the next occurrence, also while the read model does not show the skip yet', async () => {
  const job = await created({ cron_expr: '0 * * * *' });
  const once = await created({ kind: 'one_shot', cron_expr: null, fire_at: inHours(1) });
  await p.waitForProjections();
  const { promise, resolve } = Promise.withResolvers<void>();
  p.projectionDelay.until = promise;
  const [skipped, completed] = [(await act(job.id, 'skip')).body as Json, (await act(once.id, 'skip')).body as Json];
  p.projectionDelay.until = undefined;
  resolve();
  assert.is(Date.parse(skipped.next_fire_at as string) - Date.parse(job.next_fire_at as string), 3_600_000);
  assert.equal([completed.status, completed.next_fire_at], ['completed', null]);
});

test('a preview of a job shows its next due times, and marks those within a blackout as suppressed', async () => {
  const day = Temporal.Instant.fromEpochMilliseconds(p.clock.now()).toZonedDateTimeISO('UTC').add({ days: 3 }).toPlainDate().toString();
  const body = { name: 'Day off', start_date: day, end_date: day };
  const { id } = (await p.send('POST', `${p.tenant}/cron-blackouts`, { body })).body as Json;
  const job = await created({ cron_expr: '0 12 * * *' });
  const shown = (await p.send('GET', `${JOBS}/${job.id}/preview`)).body as Json[];
  assert.is(shown.length, 20);
  assert.equal(
    shown.filter(({ decision }) => decision === 'suppressed'),
    [{ due_at: `${day}T12:00:00.000Z`, local_time: `${day}T12:00:00`, decision: 'suppressed', reason: 'blackout', blackout_id: id }],
  );
  const start = p.log.events.length;
  const draft = await p.send('POST', `${JOBS}/preview`, { body: fields({ cron_expr: '0 12 * * *' }) });
  assert.equal([draft.status, draft.body], [200, shown]);
  assert.is((await p.send('POST', `${JOBS}/preview`, { body: fields({ cron_expr: 'x' }) })).status, 422);
  const due = async (body: object) => ((await p.send('POST', `${JOBS}/preview`, { body })).body as Json[])[0];
  const skipped = { cron_expr: '30 2 * * *', timezone: 'Europe/Berlin', after: '2026-03-28T12:00:00+01:00' };
  const first = { decision: 'fired', reason: null, blackout_id: null };
  assert.equal(await due(skipped), { due_at: '2026-03-29T01:00:00.000Z', local_time: '2026-03-29T02:30:00', ...first });
  const late = { cron_expr: '0 0 29 2 *', after: '9000-01-01T00:00:00Z' };
  assert.is((await p.send('POST', `${JOBS}/preview`, { body: late })).status, 422);
  assert.is((await due({ cron_expr: '0 0 1 * *', after: '2999-11-01T01:00:00Z' }))!.due_at, '2999-12-01T00:00:00.000Z');
  assert.equal(typesSince(start), []);
  await p.send('DELETE', `${p.tenant}/cron-blackouts/${id}`);
});

test('a request for a deleted job, or for a job under another agent or tenant, gets 404', async () => {
  const job = await created();
  const other = await createAgent('elsewhere');
  const second = await createSecondTenant(p);
  assert.is((await p.send('GET', `${p.tenant}/agents/${other}/cron-jobs/${job.id}`)).status, 404);
  assert.is((await p.send('GET', `${second.tenant}/agents/${agent}/cron-jobs/${job.id}`, { key: second.key })).status, 404);
  assert.is((await p.send('DELETE', `${JOBS}/${job.id}`)).status, 204);
  for (const answer of [
    await p.send('GET', `${JOBS}/${job.id}`),
    await p.send('DELETE', `${JOBS}/${job.id}`),
    await patch(job.id, { name: 'x' }),
    await act(job.id, 'pause'),
    await act(job.id, 'run-now'),
    await p.send('GET', `${JOBS}/${job.id}/runs`),
  ])
    assert.is(answer.status, 404);
});

test('creating more cron jobs than the plan of the tenant allows is refused', async () => {
  const limits = { agents: 10, members: 10, cron_jobs: 2, webhooks_per_minute: 10 };
  const plan = (await p.send('POST', '/admin/plans', { body: { slug: 'small', name: 'Small', monthly_usd: 1, limits } })).body as Json;
  const owner_email = 'owner@limited.test';
  const body = { name: 'Limited', slug: 'limited', plan_id: plan.id, owner_email };
  const tenant = (await p.send('POST', '/admin/tenants', { body })).body as { id: string; owner_key: string };
  const key = tenant.owner_key;
  const own = (await p.send('POST', `/tenant/${tenant.id}/agents`, { key, body: { name: 'Own', slug: 'own' } })).body as Json;
  const path = `/tenant/${tenant.id}/agents/${own.id}/cron-jobs`;
  const post = () => p.send('POST', path, { key, body: fields({ target: 'own' }) });
  const first = (await post()).body as Json;
  assert.is((await post()).status, 201);
  const refused = await post();
  const { code, limit, detail } = refused.body as Json;
  assert.equal([refused.status, code, limit], [409, 'plan_limit', 'cron_jobs']);
  assert.match(detail as string, /^The plan allows at most \d+ cron jobs$/);
  await p.send('DELETE', `${path}/${first.id}`, { key });
  assert.is((await post()).status, 201);
});

test('a read with as_of shows the fields and the next due time that a job had at the requested time', async () => {
  const job = await created({ cron_expr: '0 * * * *' });
  const token = (await act(job.id, 'skip')).headers.get('consistency-token')!;
  const skipped = await read(job.id);
  await act(job.id, 'skip');
  await patch(job.id, { name: 'Later' });
  const then = await read(job.id, `?as_of=${encodeURIComponent(token)}`);
  assert.equal([then.name, then.next_fire_at], ['Report', skipped.next_fire_at]);
});

test.after(p.close);
test.run();
