import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const createAgent = async (slug: string): Promise<string> =>
  ((await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug } })).body as { id: string }).id;
const agent = await createAgent('scheduled');
const JOBS = `${p.tenant}/agents/${agent}/cron-jobs`;
const internal = { name: 'Report', kind: 'recurring', target_kind: 'internal_agent', target: agent, cron_expr: '0 9 * * *' };
const external = { target_kind: 'external_url', target: 'https://example.com/hook' };
const created = async (more: Json = {}): Promise<Json> => {
  const answer = await p.send('POST', JOBS, { body: { ...internal, ...more } });
  assert.is(answer.status, 201, answer.text);
  return answer.body as Json;
};
const patch = (id: unknown, body: Json): Promise<Answer> => p.send('PATCH', `${JOBS}/${id}`, { body });
const act = (id: unknown, action: string): Promise<Answer> => p.send('POST', `${JOBS}/${id}/${action}`);
const read = async (id: unknown): Promise<Json> => (await p.send('GET', `${JOBS}/${id}`)).body as Json;
const runs = async (id: unknown): Promise<Json[]> => (await p.send('GET', `${JOBS}/${id}/runs`)).body as Json[];
const issuesOf = ({ body }: Answer) => (body as { errors: { pointer: string; code: string }[] }).errors;

test('what was skipped stays skipped: a resumed job is due at the next other time, and a one-shot job has ended', async () => {
  const job = await created({ cron_expr: '0 * * * *' });
  await act(job.id, 'skip');
  const { next_fire_at } = (await act(job.id, 'skip')).body as Json;
  await act(job.id, 'pause');
  const resumed = (await act(job.id, 'resume')).body as Json;
  assert.equal([resumed.status, resumed.next_fire_at], ['active', next_fire_at]);
  const fire_at = new Date(p.clock.now() + 3_600_000).toISOString();
  const once = await created({ kind: 'one_shot', cron_expr: null, fire_at });
  await act(once.id, 'skip');
  for (const action of ['pause', 'resume', 'skip']) {
    const refused = await act(once.id, action);
    assert.equal([refused.status, issuesOf(refused)[0]!.code], [409, 'not_due'], action);
  }
  await patch(once.id, { timezone: 'Asia/Tokyo' });
  const { status, next_fire_at: next, timezone } = await read(once.id);
  assert.equal([status, next, timezone], ['completed', null, 'Asia/Tokyo']);
  const paused = await created({ kind: 'one_shot', cron_expr: null, fire_at });
  await act(paused.id, 'pause');
  assert.is((await patch(paused.id, { timezone: 'Asia/Tokyo' })).status, 200);
  assert.equal(((await act(paused.id, 'resume')).body as Json).next_fire_at, fire_at);
});

test('running a job on request is recorded as fired, and does not change the schedule of the job', async () => {
  const job = await created(external);
  const ran = (await act(job.id, 'run-now')).body as Json;
  assert.equal([ran.next_fire_at, typeof ran.last_fired_at], [job.next_fire_at, 'string']);
  const [run] = await runs(job.id);
  assert.equal([run!.decision, run!.attempts], ['fired', []]);
  assert.is(p.eventsOf('CronRunRequested').length, 1);
});

test("a requested run names the agent that the job calls; the request is refused while the job's own agent or the called agent is inactive", async () => {
  const target = await createAgent('target-of-run');
  const job = await created({ target: 'target-of-run' });
  assert.is((await act(job.id, 'run-now')).status, 200);
  const requests = p.eventsOf('CronRunRequested').map(({ data }) => data as Json);
  assert.is(requests.find(({ job_id }) => job_id === job.id)!.target_agent_id, target);
  for (const id of [target, agent]) {
    await p.send('PATCH', `${p.tenant}/agents/${id}`, { body: { is_active: false } });
    const refused = await act(job.id, 'run-now');
    assert.equal([refused.status, issuesOf(refused)[0]!.code], [409, 'agent_inactive']);
    await p.send('PATCH', `${p.tenant}/agents/${id}`, { body: { is_active: true } });
  }
  assert.is(p.eventsOf('CronRunRequested').length, requests.length);
});

test('a job keeps calling the agent that had the slug when the job was created, even if another agent gets that slug later', async () => {
  const first = await createAgent('passed-on');
  const job = await created({ target: 'passed-on' });
  await p.send('DELETE', `${p.tenant}/agents/${first}`);
  await createAgent('passed-on');
  assert.is((await act(job.id, 'run-now')).status, 409);
  const second = await patch(job.id, { target: agent });
  assert.equal([second.status, (await act(job.id, 'run-now')).status], [200, 200]);
});

test('a run of a job shows the session of its occurrence; opening a session for an occurrence of another agent is refused', async () => {
  const job = await created();
  await act(job.id, 'run-now');
  const [{ occurrence_id }] = (await runs(job.id)) as [Json];
  const start = (id: string, cron_occurrence_id: unknown) =>
    p.send('POST', `${p.tenant}/agents/${id}/sessions`, { body: { cron_occurrence_id } });
  const session = (await start(agent, occurrence_id)).body as Json;
  assert.is(session.cron_occurrence_id, occurrence_id);
  assert.is((await runs(job.id))[0]!.session_id, session.id);
  const skipped = await created();
  await act(skipped.id, 'skip');
  const unfired = (await runs(skipped.id))[0]!.occurrence_id;
  const other = await createAgent('other-session');
  for (const refused of [await start(other, occurrence_id), await start(agent, 'unknown'), await start(agent, unfired)])
    assert.equal([refused.status, issuesOf(refused)[0]!.code], [422, 'unknown_occurrence']);
});

test.after(p.close);
test.run();
