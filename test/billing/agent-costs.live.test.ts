import { randomUUID } from 'node:crypto';
import pg from 'pg';
import * as assert from 'uvu/assert';
import { totalOf } from '../../domain/billing/agent-costs.ts';
import * as Session from '../../domain/sessions/session.ts';
import { openLog } from '../../infra/eventstore/client.ts';
import { requestMaintenance, requestState } from '../../infra/projector/maintenance-requests.ts';
import { dailyCosts, usageOfDays, usageOfMessages } from '../../projections/billing/cost.queries.ts';
import { costs } from '../../projections/billing/cost.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { query, startProjectionPlatform, waitForProjection, waitUntil } from '../fixtures/live-projections.ts';
import { startStore } from '../fixtures/store-process.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const TENANT = `c${'t'.repeat(24)}`;
const SESSIONS = 20;
const MESSAGES = 25;
const idOf = (text: string | number): string => `c${String(text).padStart(24, '0')}`;

const usageOf = (session: number, message: number) => ({
  ...{
    agent_id: idOf(session % 3),
    message_id: idOf(session * MESSAGES + message),
    model_id: message % 4 === 0 ? null : idOf(message % 2),
  },
  ...{ prompt_tokens: message, completion_tokens: session, cost_micros: (session * 7_919 + message * 104_729) % 1_000_003 },
  ...{ cause_kind: Session.CAUSE_KINDS[session % 4]!, cause_id: session % 4 === 0 ? null : idOf(session % 5) },
});

test('with a real event store and database, the stored costs of each day and message equal those in the events, before and after a rebuild', async () => {
  const store = await startStore();
  const log = openLog(store.url);
  const { reads, databaseUrl, close } = await startProjectionPlatform(log, await freshDatabase(), [costs] as unknown as AnyProjection[]);
  let expected = 0;
  for (let session = 0; session < SESSIONS; session++)
    for (let message = 0; message < MESSAGES; message++) {
      const data = usageOf(session, message);
      expected += data.cost_micros;
      const at = `2026-03-${String(1 + (message % 9)).padStart(2, '0')}T12:00:00.000Z`;
      const meta = { tenant: TENANT, actor: { kind: 'system', id: 'test' } as const, at, v: 1 };
      const event = { id: randomUUID(), type: 'UsageRecorded', data, meta };
      await log.append(`session-${TENANT}.${idOf(session)}`, message === 0 ? 'none' : message - 1, [event]);
    }
  await waitForProjection(reads, log, costs.name);

  const read = async () => {
    const days = await usageOfDays(reads, { tenant_id: TENANT, from: '2026-03-01', to: '2026-04-01' });
    const messages = await usageOfMessages(reads, { tenant_id: TENANT, from: '2026-03-01T00:00:00.000Z', to: '2026-04-01T00:00:00.000Z' });
    const daily = await dailyCosts(reads, { tenant_id: TENANT, from: '2026-03-01', to: '2026-04-01' });
    const texts = [days, messages].map((rows) => rows.map((row) => JSON.stringify(row, Object.keys(row).sort())).sort());
    return { totals: [totalOf(days), totalOf(messages)], texts, daily: daily.reduce((sum, { cost_micros }) => sum + cost_micros, 0) };
  };
  const before = await read();
  const total = { requests: SESSIONS * MESSAGES, input_tokens: 6_000, output_tokens: 4_750, cost_micros: expected };
  assert.equal([before.totals, before.daily], [[total, total], expected]);
  assert.equal(before.texts[0], before.texts[1]);

  await query(databaseUrl, 'update costs.days set cost_micros = cost_micros + 1 where agent_id = $1', [idOf(1)]);
  await query(databaseUrl, 'delete from costs.messages where agent_id = $1', [idOf(2)]);
  assert.not.equal(await read(), before);
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  const id = await requestMaintenance(pool, 'rebuild', costs.name, null);
  await waitUntil(
    'the rebuild has ended',
    () => requestState(pool, id),
    (state) => state?.done_at !== null,
  );
  await pool.end();
  assert.equal(await read(), before);
  await close();
  await log.close();
  await store.end();
});

test.run();
