import { randomUUID } from 'node:crypto';
import pg from 'pg';
import * as assert from 'uvu/assert';
import type { Log } from '../../infra/eventstore/event-log.ts';
import { openErasedTenants } from '../../infra/projector/erased-tenants.ts';
import { createSystemTables } from '../../infra/projector/schema.ts';
import { silentLogger, waitUntil } from '../fixtures/live-projections.ts';
import { memoryLog } from '../fixtures/memory-log.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const erase = (log: Log, tenant: string) => {
  const meta = { tenant, actor: { kind: 'system', id: 'test' } as const, at: '2026-11-23T09:00:00.000Z', v: 1 };
  return log.append(`tenant-${tenant}.${tenant}`, 'none', [{ id: randomUUID(), type: 'TenantErased', data: {}, meta }]);
};

/**
 * Opens the set of erased tenants and waits until it is complete. @returns those of the given tenants that it contains
 */
const erasedIn = async (log: Log, db: pg.Client, tenants: readonly string[]): Promise<string[]> => {
  const erased = openErasedTenants(log, silentLogger);
  await waitUntil('the set is ready', () => erased.update(db), Boolean);
  await erased.update(db);
  await erased.close();
  return tenants.filter(erased.has);
};

test('a search for erased tenants continues where the previous search ended; if an older backup has replaced the log, it starts from the beginning', async () => {
  const db = new pg.Client({ connectionString: await freshDatabase() });
  await db.connect();
  await createSystemTables(db);
  const log = memoryLog();
  await erase(log, 'acme');
  assert.equal(await erasedIn(log, db, ['acme', 'other']), ['acme']);
  await erase(log, 'other');
  const starts: unknown[] = [];
  const watched: Log = {
    ...log,
    follow: (follower) => {
      starts.push(follower.from);
      return log.follow(follower);
    },
  };
  assert.equal(await erasedIn(watched, db, ['acme', 'other']), ['acme', 'other']);
  assert.equal(starts, [log.events[0]!.position]);
  const restored = memoryLog();
  await erase(restored, 'other');
  assert.equal(await erasedIn(restored, db, ['acme', 'other']), ['other'], 'the log of a backup in which acme is not erased');
  await db.end();
});

test.run();
