import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nextCursor } from '../../api/console/parts/pager.ts';
import { decideDueJobs } from '../fixtures/decide-due-jobs.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

type Json = Record<string, unknown>;
type Occurrence = {
  readonly job_id: string;
  readonly due_at: string;
  readonly decision: string;
  readonly reason: string;
  readonly predicted: boolean;
};
type Day = { readonly date: string; readonly due: number; readonly first_due_at: string; readonly occurrences: readonly Json[] };
type Summary = {
  readonly job_id: string;
  readonly job_name: string;
  readonly agent_name: string;
  readonly exact: boolean;
  readonly days: readonly Day[];
};

const HOUR_MS = 3_600_000;
/** Clocks in Europe change on 28 March 2126. */
const START = Date.parse('2126-03-27T20:30:00.000Z');

const p = await createTestPlatform();
p.clock.now = () => START;
const createAgent = async (name: string): Promise<string> =>
  ((await p.send('POST', `${p.tenant}/agents`, { body: { name, slug: name.toLowerCase() } })).body as { id: string }).id;
const [agent, other] = [await createAgent('Reporter'), await createAgent('Cleaner')];
const createJob = async (agent_id: string, more: Json): Promise<string> => {
  const body = { kind: 'recurring', target_kind: 'internal_agent', target: agent_id, ...more };
  return ((await p.send('POST', `${p.tenant}/agents/${agent_id}/cron-jobs`, { body })).body as { id: string }).id;
};
const often = await createJob(agent, { name: 'Often', cron_expr: '*/10 * * * *', timezone: 'Europe/Berlin' });
const daily = await createJob(other, { name: 'Daily', cron_expr: '30 2 * * *', timezone: 'Europe/Berlin' });
const removed = await createJob(other, { name: 'Removed', cron_expr: '0 * * * *' });
await createJob(other, { name: 'Monthly', cron_expr: '0 0 15 * *' });
const blackout = { name: 'Maintenance', start_date: '2126-03-30', end_date: '2126-03-30', timezone: 'Europe/Berlin', agent_id: agent };
await p.send('POST', `${p.tenant}/cron-blackouts`, { body: blackout });
for (const hours of [1, 2, 5]) {
  p.clock.now = () => START + hours * HOUR_MS;
  await decideDueJobs(p);
}
await p.send('POST', `${p.tenant}/agents/${agent}/cron-jobs/${often}/skip`);
await p.send('DELETE', `${p.tenant}/agents/${other}/cron-jobs/${removed}`);
await p.waitForProjections();

const read = async (query: Record<string, string>, key?: string) => {
  const answer = await p.send('GET', `${p.tenant}/cron-occurrences/summary?${new URLSearchParams(query)}`, key ? { key } : {});
  assert.is(answer.status, 200, answer.text);
  return { summaries: answer.body as Summary[], next: nextCursor(answer) };
};
const summarize = async (query: Record<string, string>, key?: string) => (await read(query, key)).summaries;

const week = { first_day: '2126-03-27', last_day: '2126-04-02' };

/** Reads all occurrences of the week and a day more on both sides. */
const listAll = async (): Promise<Occurrence[]> => {
  const all: Occurrence[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = { from: '2126-03-26T00:00:00Z', to: '2126-04-04T00:00:00Z', limit: '1000', ...(cursor ? { cursor } : {}) };
    const answer = await p.send('GET', `${p.tenant}/cron-occurrences?${new URLSearchParams(query)}`);
    all.push(...(answer.body as Occurrence[]));
    cursor = nextCursor(answer);
  }
  return all;
};

/** Counts occurrences by job and day, in the form of the summary. */
const countsOf = (all: readonly Occurrence[], zone: string) => {
  const dateOf = ({ due_at }: Occurrence) => new Date(due_at).toLocaleDateString('en-CA', { timeZone: zone });
  const groups = Map.groupBy(all, (one) => `${one.job_id} ${dateOf(one)}`);
  return [...groups]
    .filter(([key]) => key.slice(-10) >= week.first_day && key.slice(-10) <= week.last_day)
    .map(([key, found]) => {
      const count = (matches: (one: Occurrence) => boolean) => found.filter(matches).length;
      return [
        key,
        {
          due: found.length,
          fired: count(({ decision, predicted }) => decision === 'fired' && !predicted),
          planned: count(({ decision, predicted }) => decision === 'fired' && predicted),
          suppressed: count(({ decision }) => decision === 'suppressed'),
          suppressed_by_blackout: count(({ reason }) => reason === 'blackout'),
          missed: count(({ decision }) => decision === 'missed'),
          skipped: count(({ decision }) => decision === 'skipped'),
          first_due_at: found[0]!.due_at,
          occurrences:
            found.length > 3
              ? []
              : found.map(({ due_at, decision, reason, predicted }) => ({ due_at, decision, reason: reason ?? null, predicted })),
        },
      ] as const;
    })
    .toSorted(([one], [two]) => (one < two ? -1 : 1));
};

const inForm = (summaries: readonly Summary[]) =>
  summaries
    .flatMap(({ job_id, days }) => days.map(({ date, ...counts }) => [`${job_id} ${date}`, counts] as const))
    .toSorted(([one], [two]) => (one < two ? -1 : 1));

test('the summary counts, by job and day of a time zone, the occurrences that the list has', async () => {
  const all = await listAll();
  assert.equal(new Set(all.map(({ decision, predicted }) => `${decision} ${predicted}`)).size, 5);
  for (const zone of ['UTC', 'Europe/Berlin', 'Pacific/Auckland']) {
    const summaries = await summarize({ ...week, timezone: zone });
    assert.equal(inForm(summaries), countsOf(all, zone));
    for (const { days, job_id, exact, ...counts } of summaries as (Summary & Record<string, number>)[]) {
      assert.ok(exact);
      for (const name of ['due', 'fired', 'planned', 'suppressed', 'suppressed_by_blackout', 'missed', 'skipped'])
        assert.is(
          counts[name],
          days.reduce((sum, day) => sum + (day as unknown as Record<string, number>)[name]!, 0),
          `${name} of ${job_id} in ${zone}`,
        );
    }
  }
});

test('the summary has the jobs that are due in the period, also deleted ones, in the order of their names', async () => {
  const found = await summarize(week);
  assert.equal(
    found.map(({ job_name, agent_name }) => [job_name, agent_name]),
    [
      ['Daily', 'Cleaner'],
      ['Often', 'Reporter'],
      ['Removed', 'Cleaner'],
    ],
  );
  assert.equal(
    (await summarize({ first_day: '2126-04-14', last_day: '2126-04-15', agent_id: other })).map(({ job_name }) => job_name),
    ['Daily', 'Monthly'],
  );
});

for (const decision of ['fired', 'suppressed', 'missed', 'skipped'])
  test(`with a filter, the summary counts only occurrences that are ${decision}`, async () => {
    const all = (await listAll()).filter((one) => one.decision === decision);
    assert.ok(all.length > 0);
    assert.equal(inForm(await summarize({ ...week, decision })), countsOf(all, 'UTC'));
  });

test('the pages of the summary together have each job once, with all its days; filters select agents and jobs', async () => {
  const all = await summarize(week);
  const paged: Summary[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { summaries, next } = await read({ ...week, limit: '1', ...(cursor ? { cursor } : {}) });
    assert.is(summaries.length, 1);
    paged.push(...summaries);
    cursor = next;
  }
  assert.equal(paged, all);
  assert.equal(
    await summarize({ ...week, job_id: often }),
    all.filter(({ job_id }) => job_id === often),
  );
  assert.equal(await summarize({ ...week, job_id: often, agent_id: other }), []);
  assert.equal(
    (await summarize({ ...week, agent_id: other })).map(({ job_name }) => job_name),
    ['Daily', 'Removed'],
  );
});

test('without parameters, the summary has the seven days from today on; without jobs that are due, it is empty', async () => {
  const [first] = (await summarize({ job_id: daily })).map(({ days }) => days.map(({ date }) => date));
  assert.equal(first, ['2126-03-28', '2126-03-29', '2126-03-30', '2126-03-31', '2126-04-01', '2126-04-02', '2126-04-03']);
  assert.equal(await summarize({ first_day: '1000-01-01' }), []);
  assert.equal(await summarize({ first_day: '2126-03-31', last_day: '2126-03-31', job_id: removed }), []);
});

test('without a first day, the next page has the days of the first one, also after midnight', async () => {
  const { summaries, next } = await read({ limit: '1' });
  const { now } = p.clock;
  p.clock.now = () => now() + 24 * HOUR_MS;
  const second = await read({ limit: '1', cursor: next! });
  p.clock.now = now;
  const all = await summarize({});
  assert.equal(
    [...summaries, ...second.summaries].map(({ days }) => days[0]!.date),
    all.slice(0, 2).map(({ days }) => days[0]!.date),
  );
  assert.is(second.summaries[0]!.days[0]!.date, '2126-03-28');
});

test('the summary of an inactive agent has its planned occurrences as suppressed, but not by a blackout', async () => {
  await p.send('PATCH', `${p.tenant}/agents/${other}`, { body: { is_active: false } });
  const query = { first_day: '2126-04-05', last_day: '2126-04-05', job_id: daily };
  const [{ days: [day] = [] } = {}] = (await summarize(query)) as (Summary & Json)[];
  const { suppressed, suppressed_by_blackout, occurrences } = day as unknown as Json & Day;
  assert.equal([suppressed, suppressed_by_blackout, occurrences[0]!.reason], [1, 0, 'agent_inactive']);
  await p.send('PATCH', `${p.tenant}/agents/${other}`, { body: { is_active: true } });
});

test('a member sees only the summaries of jobs of agents on which they have a role', async () => {
  const { key, user_id } = await addMember(p, 'MEMBER');
  assert.equal(await summarize(week, key), []);
  assert.equal(await summarize({ ...week, job_id: often }, key), []);
  await p.send('PUT', `${p.tenant}/agents/${other}/roles/${user_id}`, { body: { role: 'VIEWER' } });
  assert.equal(
    (await summarize(week, key)).map(({ job_name }) => job_name),
    ['Daily', 'Removed'],
  );
  assert.equal(await summarize({ ...week, agent_id: agent }, key), []);
});

const REFUSED: Readonly<Record<string, string>> = {
  'first_day=2126-03-05&last_day=2126-03-04': '/query/last_day',
  'first_day=2126-03-01&last_day=2126-05-02': '/query/last_day',
  'first_day=2126-02-30': '/query/first_day',
  'first_day=0999-12-31': '/query/first_day',
  'last_day=9999-01-01': '/query/last_day',
  'timezone=Mars/Base': '/query/timezone',
  'timezone=%2B01:00': '/query/timezone',
  'limit=201': '/query/limit',
  'cursor=x': '/query/cursor',
  'decision=planned': '/query/decision',
};

for (const [query, pointer] of Object.entries(REFUSED))
  test(`the summary is refused at ${pointer} with ${query}`, async () => {
    const { status, body } = await p.send('GET', `${p.tenant}/cron-occurrences/summary?${query}`);
    assert.equal([status, (body as { errors: { pointer: string }[] }).errors[0]!.pointer], [422, pointer]);
  });

test('the summary may have 62 days', async () => {
  assert.is((await summarize({ first_day: '2126-03-01', last_day: '2126-05-01', job_id: daily }))[0]!.days.length, 35);
});

test.after(p.close);
test.run();
