import pg from 'pg';
import * as assert from 'uvu/assert';
import { eraseTenantRows } from '../../infra/projector/erase-rows.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import type { AnyProjection } from '../../projections/projection.ts';
import { startProjectionPlatform, waitUntil } from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const ROWS = 25_000;

test('erasing the rows of a tenant removes many rows in batches, and also its parked events and rate limits; rows of other tenants stay', async () => {
  const databaseUrl = await freshDatabase();
  const platform = await startProjectionPlatform(memoryLog(), databaseUrl, [audit as unknown as AnyProjection]);
  const db = new pg.Client({ connectionString: databaseUrl });
  await db.connect();
  const tableExists = async () => (await db.query("select to_regclass('audit.subjects') is not null as exists")).rows[0].exists;
  await waitUntil('the tables exist', tableExists, Boolean);
  const fill = `select n::text as id, case when n % 2 = 0 then 'acme' else 'other' end as tenant from generate_series(1, ${2 * ROWS}) as n`;
  await db.query(`insert into audit.audit_logs (id, tenant_id, doc, touched) select id, tenant, '{}', '' from (${fill}) rows`);
  await db.query(`insert into audit.platform_audit_logs (id, tenant_id, doc, touched) values ('p', 'acme', '{}', '')`);
  await db.query(`insert into audit.subjects (id, of_tenant, touched) values ('a', 'acme', ''), ('acme', 'acme', ''), ('o', 'other', '')`);
  await db.query(`insert into annals.parked (projection, stream, revision, event_id, type, first, reason, commit_position, prepare_position, event_at)
    select 'audit', 'agent-' || tenant || '.a', 0, 'e', 'AgentCreated', true, 'why', 0, 0, '' from unnest(array['acme', 'other']) as tenant`);
  await db.query("insert into annals.limits (key, full_at) values ('api acme', 0), ('api other', 0)");
  await db.query(`insert into annals.windows (key, version, state, expires_at) select tenant || ' ' || key, 0, '[]', 0
    from unnest(array['acme', 'other']) tenant, unnest(array['rule an-integration 60 r', 'slack_rpm_limit an-agent']) key`);
  const statements: string[] = [];
  const counted = {
    query: (text: string, values: unknown[]) => {
      statements.push(text);
      return db.query(text, values);
    },
  } as unknown as pg.Client;
  assert.is(await eraseTenantRows(counted, 'acme'), ROWS + 1);
  assert.is(statements.filter((text) => text.startsWith('delete from "audit"."audit_logs"')).length, 3);
  const count = async (table: string) => Number((await db.query(`select count(*) from ${table}`)).rows[0].count);
  const counts = [
    'audit.audit_logs',
    'audit.platform_audit_logs',
    'audit.subjects',
    'annals.parked',
    'annals.limits',
    'annals.windows',
  ].map(count);
  assert.equal(await Promise.all(counts), [ROWS, 1, 2, 1, 1, 2]);
  await db.end();
  await platform.close();
});

test.run();
