import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import { comparePositions, parseToken } from '../../domain/event.ts';
import { openProjectionAdmin } from '../../infra/projector/projection-admin.ts';
import { projections } from '../../projections/registry.ts';
import { query, silentLogger, startWorker, waitUntil } from '../fixtures/live-projections.ts';
import { startTcpProxy } from '../fixtures/tcp-proxy.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';
import { addSuperAdmin, createSecondTenant } from '../fixtures/users.ts';

type Rebuild = {
  id: string;
  state: string;
  events: number;
  total: number;
  comparison: { rows: number; differing: number; shown: object[] } | null;
  requested_at: string;
  requested_by: { name: string } | null;
  ended_at: string | null;
  decided_by: { name: string } | null;
  reason: string | null;
};
type Status = { name: string; state: string; lag_events: number; position: string | null; head: string | null; writer: string | null };

const AGENTS = '/admin/projections/agents';

/**
 * Starts a platform with its own database for the administration of projections. A worker fills that database.
 * `reachedBy` can change the URL at which the platform reaches the database.
 */
const staged = async (reachedBy: (databaseUrl: string) => Promise<string> = async (url) => url) => {
  const databaseUrl = await freshDatabase();
  const url = await reachedBy(databaseUrl);
  let close = async (): Promise<void> => {};
  const p = await createTestPlatform({
    createProjectionAdmin: (log) => {
      const operators = openProjectionAdmin(url, log, silentLogger);
      close = operators.close;
      return operators;
    },
  });
  afterTest(async () => {
    await close();
    await p.close();
  });
  await startWorker({ log: p.log, databaseUrl, projections, logger: silentLogger });
  for (let n = 0; n < 20; n++) await p.send('POST', `${p.tenant}/agents`, { body: { name: `Agent ${n}`, slug: `a${n}` } });
  const statuses = () => p.send('GET', '/admin/projections').then(({ body }) => body as Status[]);
  await waitUntil(
    'the read models',
    statuses,
    (all) => all.length === projections.length && all.every((one) => one.state === 'live' && one.lag_events === 0),
  );
  const rebuild = (path: string) => p.send('GET', path).then(({ body }) => body as Rebuild);
  return { p, databaseUrl, statuses, rebuild };
};

test('a rebuild that is requested over HTTP compares its rows with the live rows, and replaces the live rows when it is promoted', async () => {
  const { p, databaseUrl, rebuild } = await staged();
  await waitUntil(
    'the agents',
    () => query<{ count: number }>(databaseUrl, 'select count(*)::integer as count from agents.agents'),
    ([found]) => found!.count === 20,
  );
  await query(databaseUrl, `update agents.agents set name = 'spoilt' where slug = 'a7'`);
  const accepted = await p.send('POST', `${AGENTS}/rebuild`);
  assert.is(accepted.status, 202);
  const path = accepted.headers.get('location')!;
  const ready = await waitUntil(
    'the rebuild',
    () => rebuild(path),
    ({ state }) => state === 'ready',
  );
  assert.equal([ready.comparison!.rows > 20, ready.comparison!.differing], [true, 1]);
  assert.ok(ready.events >= 20 && ready.total >= ready.events, JSON.stringify(ready));
  assert.is((await p.send('POST', `${AGENTS}/rebuild`)).headers.get('location'), path, 'one at a time');
  const name = () => query<{ name: string }>(databaseUrl, `select name from agents.agents where slug = 'a7'`).then(([row]) => row!.name);
  assert.is(await name(), 'spoilt');

  const differences = (query = '') => p.send('GET', `${path}/differences${query}`).then(({ body }) => body as object[]);
  const [agent] = p.eventsOf('AgentCreated').filter(({ data }) => (data as { slug: string }).slug === 'a7');
  const row = { table: 'agents', key: { tenant_id: p.tenant_id, id: agent!.id } };
  // The name is a text of a tenant, so operators see its length only.
  const masked = { live: '[6 characters]', rebuilt: '[7 characters]' };
  const withoutMarks = async (query?: string) => JSON.parse(JSON.stringify(await differences(query)).replaceAll(/, [0-9a-f]{6}\]/g, ']'));
  const changed = { column: 'name', ...masked, last_event_id: agent!.event_id };
  assert.equal(await withoutMarks(), [{ ...row, ...changed }]);
  assert.equal([await withoutMarks('?column=name'), await withoutMarks('?column=slug')], [[{ ...row, ...changed }], []]);
  const reason = 'The names were wrong';
  const promoted = await p.send('POST', `${path}/promote`, { body: { reason } });
  assert.is(promoted.status, 200);
  assert.ok(promoted.headers.get('consistency-token'));
  const done = promoted.body as Rebuild;
  assert.is(done.state, 'promoted');
  assert.equal(await differences(), []);
  assert.equal(await rebuild(path), done);
  assert.ok(done.events >= ready.events);
  assert.is(await name(), 'Agent 7');
  assert.equal(
    p.eventsOf('ProjectionPromoted').map(({ data, actor }) => [data, actor.kind]),
    [[{ projection: 'agents', version: projections.find((one) => one.name === 'agents')!.version, rebuild_id: done.id, reason }, 'user']],
  );
  const { requested_by, decided_by } = done;
  assert.equal([decided_by, requested_by?.name, done.reason], [requested_by, 'Administrator', reason]);
  const [last, ...others] = (await p.send('GET', `${AGENTS}/rebuilds`)).body as Rebuild[];
  assert.equal([last, others], [done, []]);
  assert.ok(last!.requested_at < last!.ended_at!, JSON.stringify(last));
  assert.match((await p.send('POST', `${path}/promote`)).text, /already been promoted by Administrator/);
  assert.is((await p.send('POST', `${path}/abort`)).status, 409);
});

test('if two operators promote the same rebuild at the same time, one request succeeds, and the response to the other says who was first', async () => {
  const { p, rebuild } = await staged();
  const { key: ada } = await addSuperAdmin(p, 'ada@example.com');
  const path = (await p.send('POST', `${AGENTS}/rebuild`)).headers.get('location')!;
  await waitUntil(
    'the rebuild',
    () => rebuild(path),
    ({ state }) => state === 'ready',
  );
  const answers = await Promise.all([p.send('POST', `${path}/promote`), p.send('POST', `${path}/promote`, { key: ada })]);
  const names = ['Administrator', 'ada@example.com'];
  const won = answers.findIndex(({ status }) => status === 200);
  assert.is(answers[1 - won]!.status, 409);
  assert.match(answers[1 - won]!.text, new RegExp(names[won]!));
  assert.is(p.eventsOf('ProjectionPromoted').length, 1);
});

test('aborting a rebuild keeps the live rows and records no event', async () => {
  const { p, databaseUrl, rebuild } = await staged();
  await query(databaseUrl, `delete from agents.agents where slug = 'a3'`);
  const path = (await p.send('POST', `${AGENTS}/rebuild`)).headers.get('location')!;
  await waitUntil(
    'the rebuild',
    () => rebuild(path),
    ({ state }) => state === 'ready',
  );
  const [missing, ...others] = (await p.send('GET', `${path}/differences`)).body as { column: string; live: string; rebuilt: string }[];
  assert.equal([missing!.column, missing!.live, others], [null, null, []]);
  const { id, name, slug } = JSON.parse(missing!.rebuilt.replace(/,[^,]*…$/, '}')) as Record<string, string>;
  assert.match(id!, /^c[a-z0-9]{24}$/);
  for (const text of [name, slug]) if (text !== undefined) assert.match(text, /^\[\d characters, [0-9a-f]{6}\]$/);
  const aborted = await p.send('POST', `${path}/abort`);
  assert.equal([aborted.status, (aborted.body as Rebuild).state], [200, 'aborted']);
  assert.is((await p.send('POST', `${path}/promote`)).status, 409, 'it cannot be promoted after it was aborted');
  assert.is(p.eventsOf('ProjectionPromoted').length, 0);
  assert.ok((aborted.body as Rebuild).comparison, 'the comparison is kept');
  const other = (await p.send('POST', `${AGENTS}/rebuild`)).headers.get('location');
  assert.is.not(other, path);
});

test('an operator can list and retry parked events, and each retry increases the number of attempts', async () => {
  const { p } = await staged();
  type Parked = { event_id: string; key: string; error: string; attempts: number };
  const parked = () => p.send('GET', `${AGENTS}/parked`).then(({ body }) => body as Parked[]);
  const stream = `agent-${p.tenant_id}.c${'0'.repeat(24)}`;
  const meta = { tenant: p.tenant_id, actor: { kind: 'system', id: 'test' }, at: new Date().toISOString(), v: 1 } as const;
  await p.log.append(stream, 'none', [{ id: randomUUID(), type: 'AgentDeleted', data: {}, meta }]);
  const [one] = await waitUntil('the parked event', parked, ({ length }) => length === 1);
  assert.is(one!.key, `${stream}@0`);
  const retried = await p.send('POST', `${AGENTS}/parked/${one!.event_id}/retry`);
  assert.is(retried.status, 200);
  await waitUntil('the attempt', parked, ([still]) => still!.attempts > one!.attempts);
  assert.equal(
    p.eventsOf('ParkedEventRetried').map(({ data }) => data),
    [{ projection: 'agents', event_id: one!.event_id }],
  );
});

test('while the log grows, no projection reports a position beyond the end of the log', async () => {
  const { p, databaseUrl, statuses } = await staged();
  const { readAll } = p.log;
  // Simulate a slow event store. When the worker gets to know the end of the log, its projections are already behind
  // that position.
  const readSlowly = async function* (options: Parameters<typeof readAll>[0]) {
    const events = await Array.fromAsync(readAll(options));
    await sleep(200);
    yield* events;
  };
  p.log.readAll = (options) => (options?.backwards ? readSlowly(options) : readAll(options));
  let isWriting = true;
  const writing = (async () => {
    for (let n = 0; isWriting; n++) {
      await p.send('PATCH', p.tenant, { body: { name: `Tenant ${n}` } });
      await sleep(5);
    }
  })();
  const seen = new Set<string>();
  const ask = async () => {
    const [{ seen_at }] = (await query<{ seen_at: string }>(databaseUrl, 'select max(seen_at)::text as seen_at from annals.statuses')) as [
      { seen_at: string },
    ];
    if (!seen.has(seen_at))
      for (const { name, position, head } of await statuses())
        assert.ok(comparePositions(parseToken(position!)!, parseToken(head!)!) <= 0, `${name}: ${position} is beyond ${head}`);
    seen.add(seen_at);
  };
  try {
    for (let asks = 0; seen.size < 6 && asks < 400; asks++, await sleep(25)) await ask();
  } finally {
    isWriting = false;
    await writing;
  }
  assert.ok(seen.size >= 6, `${seen.size}`);
});

test('unknown projections, rebuilds and parked events get 404, or 503 before the tables exist; non-operators get 403', async () => {
  const { p, databaseUrl, statuses } = await staged();
  for (const path of [
    '/admin/projections/nothing/parked',
    '/admin/projections/nothing/rebuilds',
    `${AGENTS}/rebuilds/9999`,
    `${AGENTS}/rebuilds/x`,
  ])
    assert.is((await p.send('GET', path)).status, 404, path);
  for (const path of [
    '/admin/projections/nothing/rebuild',
    `${AGENTS}/rebuilds/9999/promote`,
    `${AGENTS}/parked/none/retry`,
    `${AGENTS}/parked/%00/retry`,
  ])
    assert.is((await p.send('POST', path)).status, 404, path);
  const { key } = await createSecondTenant(p);
  for (const path of ['/admin/projections', `${AGENTS}/parked`, `${AGENTS}/rebuilds`, '/admin/drift'])
    assert.is((await p.send('GET', path, { key })).status, 403, path);
  assert.equal((await p.send('GET', `${AGENTS}/parked`)).body, []);
  assert.ok((await statuses()).every(({ position, head, writer }) => position && head && writer));
  const drift = (await p.send('GET', '/admin/drift')).body as { projections: { sampled: number; differing: object[] }[] };
  assert.ok(drift.projections.some(({ sampled }) => sampled > 0));
  assert.equal(
    drift.projections.flatMap(({ differing }) => differing),
    [],
  );
  await query(databaseUrl, 'alter table annals.requests rename column reason to other_reason');
  const early = await p.send('GET', `${AGENTS}/rebuilds`);
  assert.equal([early.status, /start annals work/.test(early.text)], [503, true], early.text);
});

test('if the database does not answer, requests of operators get 503 within seconds', async () => {
  let way: Awaited<ReturnType<typeof startTcpProxy>> | undefined;
  const { p, statuses } = await staged(async (databaseUrl) => {
    way = await startTcpProxy(databaseUrl);
    return way.url;
  });
  way!.stall();
  const started = Date.now();
  const answers = await Promise.all(['/admin/projections', `${AGENTS}/parked`, '/admin/projections'].map((path) => p.send('GET', path)));
  assert.equal(
    answers.map(({ status, headers }) => [status, headers.has('retry-after')]),
    answers.map(() => [503, true]),
  );
  assert.ok(Date.now() - started < 9_000, `${Date.now() - started} ms`);
  way!.resume();
  assert.is((await statuses()).length, projections.length);
  way!.end();
});

test.run();
