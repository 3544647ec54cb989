import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type * as Session from '../../domain/sessions/session.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { expiries } from '../../infra/sessions/expire-sessions.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { sessions } from '../../projections/sessions/session.ts';
import { query, silentLogger, startProjectionPlatform, waitForProjection, waitUntil } from '../fixtures/live-projections.ts';
import { startWorker } from '../fixtures/start-worker.ts';
import { pause, startStore } from '../fixtures/store-process.ts';
import { freshDatabase } from '../fixtures/test-services.ts';

const TENANT = `c${'t'.repeat(24)}`;
const HOUR = 3_600_000;
const idOf = (letter: string): string => letter.padStart(25, 'c');

const append = async (log: Log, id: string, events: readonly Session.SessionEvent[], at: number): Promise<void> => {
  const stream = `session-${TENANT}.${id}`;
  const meta = { tenant: TENANT, actor: { kind: 'system', id: 'test' } as const, at: new Date(at).toISOString(), v: 1 };
  const last = await log.last(stream);
  await log.append(
    stream,
    last?.revision ?? 'none',
    events.map(({ type, data }) => ({ id: randomUUID(), type, data, meta })),
  );
};

const started = (expires: number): Session.SessionEvent => ({
  type: 'SessionStarted',
  data: {
    agent_id: idOf('a'),
    title: null,
    delivery_id: null,
    cron_occurrence_id: null,
    user_id: null,
    expires_at: new Date(expires).toISOString(),
    agent_revision: 0,
    model_ids: [],
    model_id: null,
    position: '1:1',
  },
});
const ofAgent = { agent_id: idOf('a') };
const message = (kind: 'waiting' | null): Session.SessionEvent => ({
  type: 'MessageAppended',
  data: { ...ofAgent, message_id: idOf('m'), role: 'assistant', kind, model_id: null, sealed_content: 'v1.x' },
});

test('with a real event store and database, two workers together expire each overdue session exactly once', async () => {
  const store = await startStore();
  const log = openLog(store.url);
  const databaseUrl = await freshDatabase();
  let now = Date.now();
  const start = () => startWorker([expiries], { log, databaseUrl, logger: silentLogger, now: () => now, intervalMs: 50 });
  // Start the workers before the read model exists. They must be able to handle this.
  let workers = [start(), start()];
  const platform = await startProjectionPlatform(log, databaseUrl, [sessions as unknown as AnyProjection]);
  const [due, waiting, ended, later] = [...'dwel'].map(idOf) as [string, string, string, string];
  for (const id of [due, waiting, ended]) await append(log, id, [started(now + HOUR)], now);
  await append(log, waiting, [message(null), message('waiting')], now);
  await append(log, ended, [{ type: 'SessionCompleted', data: { ...ofAgent, sealed_summary: null, sealed_error: null } }], now);
  await append(log, later, [started(now + 3 * HOUR)], now);
  await waitForProjection(platform.reads, log, 'sessions');
  const expired = async () =>
    (await Array.fromAsync(log.readAll())).filter(({ type }) => type === 'SessionExpired').map(({ id, actor }) => `${actor.id} ${id}`);
  await pause(300);
  assert.equal(await expired(), [], 'no time is over');
  now += HOUR;
  await waitUntil('they are expired', expired, (found) => found.length === 2);
  await Promise.all(workers.map((one) => one.close()));
  workers = [start(), start()];
  await waitForProjection(platform.reads, log, 'sessions');
  await pause(300);
  assert.equal((await expired()).sort(), [`annals ${due}`, `annals ${waiting}`]);
  assert.equal(await query(databaseUrl, 'select id, status, until is null as final from sessions.sessions order by id'), [
    { id: due, status: 'expired', final: true },
    { id: ended, status: 'completed', final: true },
    { id: later, status: 'running', final: false },
    { id: waiting, status: 'expired', final: true },
  ]);
  await Promise.all(workers.map((one) => one.close()));
  await platform.close();
  await log.close();
  await store.end();
});

test.run();
