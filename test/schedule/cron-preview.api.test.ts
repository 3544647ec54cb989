import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createTestPlatform } from '../fixtures/test-platform.ts';

type Json = Record<string, unknown>;

const HOUR_MS = 3_600_000;
const START = Date.parse('2126-03-04T06:30:00.000Z');

const p = await createTestPlatform();
p.clock.now = () => START;
const { body: agent } = await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Reporter', slug: 'reporter' } });
const AGENT = `${p.tenant}/agents/${(agent as { id: string }).id}`;
const createJob = async (): Promise<string> => {
  const fields = { name: 'Hourly', kind: 'recurring', cron_expr: '0 * * * *', target_kind: 'external_url', target: 'https://example.com' };
  return ((await p.send('POST', `${AGENT}/cron-jobs`, { body: fields })).body as { id: string }).id;
};
const preview = async (job: string): Promise<readonly Json[]> =>
  (await p.send('GET', `${AGENT}/cron-jobs/${job}/preview`)).body as readonly Json[];
const hoursOf = async (job: string): Promise<readonly string[]> =>
  (await preview(job)).slice(0, 2).map(({ due_at }) => (due_at as string).slice(11, 13));

test('the preview of a job starts with its next undecided time, and leaves out times whose decisions are recorded', async () => {
  const job = await createJob();
  assert.equal(await hoursOf(job), ['07', '08']);
  await p.send('POST', `${AGENT}/cron-jobs/${job}/skip`);
  assert.equal(await hoursOf(job), ['08', '09']);
  // With the new schedule, the skipped time is due again, but its decision is recorded.
  const { body } = await p.send('PATCH', `${AGENT}/cron-jobs/${job}`, { body: { cron_expr: '0 */1 * * *' } });
  assert.is((body as Json).next_fire_at, '2126-03-04T07:00:00.000Z');
  assert.equal(await hoursOf(job), ['08', '09']);
});

test('after a downtime, the preview of a job has the due time that still fires, but not those that it misses', async () => {
  const job = await createJob();
  p.clock.now = () => START + 5 * HOUR_MS;
  assert.equal(await hoursOf(job), ['11', '12']);
  p.clock.now = () => START;
});

test('the preview of an old job reads only the decisions since its first shown time, however many there were before', async () => {
  const job = await createJob();
  p.clock.now = () => START + 2_000 * HOUR_MS;
  const { rows } = p.reads;
  const starts: string[] = [];
  p.reads.rows = ((query: never, args: Json) => {
    if (args.job_id === job) starts.push(args.from as string);
    return rows.call(p.reads, query, args as never);
  }) as typeof rows;
  try {
    const shown = await preview(job);
    assert.equal(starts, [new Date(START + 1_999 * HOUR_MS - 1).toISOString()]);
    assert.is(shown[0]!.due_at, new Date(START + 1_999.5 * HOUR_MS).toISOString());
  } finally {
    p.reads.rows = rows;
    p.clock.now = () => START;
  }
});

test('in the preview of a job, no time fires while its agent is inactive; a paused job has no times', async () => {
  const job = await createJob();
  await p.send('PATCH', AGENT, { body: { is_active: false } });
  const shown = await preview(job);
  assert.is(shown.length, 20);
  assert.ok(shown.every(({ decision, reason }) => decision === 'suppressed' && reason === 'agent_inactive'));
  await p.send('PATCH', AGENT, { body: { is_active: true } });
  assert.is((await preview(job))[0]!.decision, 'fired');
  await p.send('POST', `${AGENT}/cron-jobs/${job}/pause`);
  assert.equal(await preview(job), []);
});

test.after(p.close);
test.run();
