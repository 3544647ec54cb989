import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { openProjectionAdmin } from '../../infra/projector/projection-admin.ts';
import { projections } from '../../projections/registry.ts';
import { query, silentLogger, startWorker, waitUntil } from '../fixtures/live-projections.ts';
import { startTcpProxy } from '../fixtures/tcp-proxy.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';
import { createSecondTenant } from '../fixtures/users.ts';

type Rebuild = {
  id: string;
  state: string;
  events: number;
  total: number;
  comparison: { rows: number; differing: number; shown: object[] } | null;
};
type Status = { name: string; state: string; lag_events: number; position: string | null; head: string | null; writer: string | null };

const AGENTS = '/admin/projections/agents';

/** Starts a platform whose projection administration uses a database of its own. A worker fills the database. */
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

test('a rebuild that is requested over HTTP compares its rows with the live rows, and replaces them when its promotion is requested', async () => {
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

  const promoted = await p.send('POST', `${path}/promote`);
  assert.is(promoted.status, 200);
  assert.ok(promoted.headers.get('consistency-token'));
  const done = await waitUntil(
    'the promotion',
    () => rebuild(path),
    ({ state }) => state === 'promoted',
  );
  assert.ok(done.events >= ready.events);
  assert.is(await name(), 'Agent 7');
  assert.equal(
    p.eventsOf('ProjectionPromoted').map(({ data, actor }) => [data, actor.kind]),
    [[{ projection: 'agents', version: projections.find((one) => one.name === 'agents')!.version, rebuild_id: done.id }, 'user']],
  );
  assert.is((await p.send('POST', `${path}/promote`)).status, 409);
  assert.is((await p.send('POST', `${path}/abort`)).status, 409);
});

test('aborting a rebuild keeps the live rows and records no event', async () => {
  const { p, rebuild } = await staged();
  const path = (await p.send('POST', `${AGENTS}/rebuild`)).headers.get('location')!;
  await waitUntil(
    'the rebuild',
    () => rebuild(path),
    ({ state }) => state === 'ready',
  );
  assert.is((await p.send('POST', `${path}/abort`)).status, 200);
  assert.is((await p.send('POST', `${path}/promote`)).status, 409, 'it cannot be promoted while it is being aborted');
  await waitUntil(
    'the end',
    () => rebuild(path),
    ({ state }) => state === 'aborted',
  );
  assert.is(p.eventsOf('ProjectionPromoted').length, 0);
  const other = (await p.send('POST', `${AGENTS}/rebuild`)).headers.get('location');
  assert.is.not(other, path);
});

test('an operator can list and retry parked events, and each retry raises the number of attempts', async () => {
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

test('operators get 404 for unknown projections, rebuilds and parked events; other users get 403', async () => {
  const { p, statuses } = await staged();
  for (const path of ['/admin/projections/nothing/parked', `${AGENTS}/rebuilds/9999`, `${AGENTS}/rebuilds/x`])
    assert.is((await p.send('GET', path)).status, 404, path);
  for (const path of [
    '/admin/projections/nothing/rebuild',
    `${AGENTS}/rebuilds/9999/promote`,
    `${AGENTS}/parked/none/retry`,
    `${AGENTS}/parked/%00/retry`,
  ])
    assert.is((await p.send('POST', path)).status, 404, path);
  const { key } = await createSecondTenant(p);
  for (const path of ['/admin/projections', `${AGENTS}/parked`, '/admin/drift'])
    assert.is((await p.send('GET', path, { key })).status, 403, path);
  assert.equal((await p.send('GET', `${AGENTS}/parked`)).body, []);
  assert.ok((await statuses()).every(({ position, head, writer }) => position && head && writer));
  const drift = (await p.send('GET', '/admin/drift')).body as { projections: { sampled: number; differing: object[] }[] };
  assert.ok(drift.projections.some(({ sampled }) => sampled > 0));
  assert.equal(
    drift.projections.flatMap(({ differing }) => differing),
    [],
  );
});

test('if the database does not answer, operators get 503 within seconds', async () => {
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
