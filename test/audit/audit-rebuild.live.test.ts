import * as assert from 'uvu/assert';
import { openPool } from '../../infra/postgres/pool.ts';
import { checkAllDrift, checkDrift } from '../../infra/projector/drift-check.ts';
import { requestMaintenance, requestState } from '../../infra/projector/maintenance-requests.ts';
import { audit, table } from '../../projections/audit/audit-log.ts';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import { query, silentLogger, startProjectionPlatform, waitForProjection, waitUntil } from '../fixtures/live-projections.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { addMember } from '../fixtures/users.ts';

/**
 * Creates a platform with events whose audit log entries depend on earlier events, for example because they show the
 * former name of a renamed resource.
 */
const createPlatformWithHistory = async () => {
  const p = await createTestPlatform();
  const { key, user_id } = await addMember(p, 'OWNER');
  const send = async (method: string, path: string, body: object) => {
    const answer = await p.send(method, `${p.tenant}/${path}`, { key, body });
    assert.ok(answer.status < 300, answer.text);
    return (answer.body as { id: string }).id;
  };
  const agent = await send('POST', 'agents', { name: 'First', slug: 'first' });
  for (const name of ['Second', 'Third']) await send('PATCH', `agents/${agent}`, { name, description: `It was ${name} once` });
  await send('PUT', `agents/${agent}/roles/${user_id}`, { role: 'OWNER' });
  const secret = 'a provider’s secret of 24 bytes';
  const hook = await send('POST', 'webhook-integrations', { provider: 'github', agent_id: agent, label: 'Code', secret });
  await send('PATCH', `webhook-integrations/${hook}`, { label: 'Other code' });
  return { p, send, agent };
};

test('the drift check finds no difference in the audit log, and a rebuild writes the same entries, even after a restart', async () => {
  const { p, send, agent } = await createPlatformWithHistory();
  const databaseUrl = await freshDatabase();
  const first = await startProjectionPlatform(p.log, databaseUrl, [audit]);
  await waitForProjection(first.reads, p.log, audit.name);
  await first.close();
  // The row cache of the restarted worker is empty. To make the next audit log entry, the worker must load names from
  // the database.
  await send('PATCH', `agents/${agent}`, { name: 'Fourth' });
  const { reads } = await startProjectionPlatform(p.log, databaseUrl, [audit]);
  await waitForProjection(reads, p.log, audit.name);
  const [last] = await query(databaseUrl, `select doc from audit.audit_logs where action = 'agent.updated' order by place desc limit 1`);
  assert.equal(JSON.parse(String(last!.doc)).changes, [{ pointer: '/name', from: 'Third', to: 'Fourth' }]);
  // For this entry, the worker finds the same names in its row cache.
  await send('PATCH', `agents/${agent}`, { voice: 'alto' });
  await waitForProjection(reads, p.log, audit.name);
  const pool = openPool(databaseUrl, silentLogger, 'test');
  for (const { checked, drifted } of [...(await checkAllDrift(p.log, pool, [audit])), await checkDrift(p.log, pool, audit, 5)]) {
    assert.ok(checked > 5);
    assert.equal(drifted, []);
  }
  const id = await requestMaintenance(pool, 'rebuild', audit.name);
  const done = await waitUntil(
    'the rebuild',
    () => requestState(pool, id),
    (state) => state?.done_at != null,
  );
  const { comparison } = done!.outcome as { comparison: { rows: number; differing: number } };
  assert.is(comparison.differing, 0);
  await pool.end();
  await p.close();
});

test('the projection makes the same audit log entries from a log, whatever the size of the batches in which it applies the events', async () => {
  const { p } = await createPlatformWithHistory();
  const rowsOf = (size: number): unknown[] => {
    const store = openMemoryStore([audit]);
    for (let at = 0; at < p.log.events.length; at += size) store.feed(p.log.events.slice(at, at + size));
    assert.equal(store.unapplied(audit.name), []);
    return [...store.rows(audit.name, table.name).values()].map(({ docs }) => docs);
  };
  assert.equal(rowsOf(1), rowsOf(1_000));
  await p.close();
});

test.run();
