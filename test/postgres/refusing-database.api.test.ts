import pg from 'pg';
import * as assert from 'uvu/assert';
import { checkPostgres, checkWritablePostgres, withPostgres } from '../../infra/health/health-checks.ts';
import { databaseCause } from '../../infra/postgres/database-cause.ts';
import { readModelDatabase } from '../fixtures/template-database.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';

/** Creates the function `fail_now`, which raises an error with the SQLSTATE that the table `failure` names. */
const FAILING_FUNCTION = `create table public.failure (code text);
  create function public.fail_now() returns boolean language plpgsql stable as
    $$ begin raise exception 'could not open file' using errcode = (select code from public.failure); end $$`;

/** Replaces the table of agents by a view, each read of which fails. */
const FAILING_READS = `alter table agents.agents rename to intact;
  create view agents.agents as select * from agents.intact where public.fail_now()`;

/** Undoes both, because the next test platform of this process uses the same database. */
const RESTORE = `drop view agents.agents; alter table agents.intact rename to agents;
  drop function public.fail_now; drop table public.failure`;

test('each error with which the database refuses reads is answered with 503 unavailable', async () => {
  const p = await createTestPlatform();
  await p.readModelPool.query(`${FAILING_FUNCTION}; ${FAILING_READS}`);
  afterTest(() => p.readModelPool.query(RESTORE));
  for (const code of ['53100', '53300', '42501', '25006', '58030', '58P01', 'XX001', '57P03']) {
    await p.readModelPool.query(`truncate public.failure; insert into public.failure values ('${code}')`);
    const { status, body } = await p.send('GET', `/tenant/${p.tenant_id}/agents`);
    assert.equal([code, status, (body as { code: string }).code], [code, 503, 'unavailable']);
  }
});

test('doctor and the health report say that a database is read-only, and what to do', async () => {
  const url = await readModelDatabase();
  await withPostgres(url, (client) =>
    client.query(`alter database ${pg.escapeIdentifier(client.database!)} set default_transaction_read_only = on`),
  );
  const { level, message, advice } = await withPostgres(url, checkPostgres);
  assert.is(level, 'fail');
  assert.match(message, /is read-only$/);
  assert.match(advice!, /name the primary server/);
});

test('doctor finds a database that answers, but takes no changes, and names the cause', async () => {
  const url = await readModelDatabase();
  assert.is((await withPostgres(url, checkWritablePostgres)).level, 'ok');
  await withPostgres(url, (client) =>
    client.query(`create function public.refuse() returns event_trigger language plpgsql as
      $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
      create event trigger refuse on ddl_command_start execute function public.refuse()`),
  );
  const error = await withPostgres(url, checkWritablePostgres).catch((thrown: unknown) => thrown);
  assert.is(databaseCause(error)?.cause, 'its disk is full');
  const left = await withPostgres(url, (client) => client.query("select from pg_namespace where nspname like 'annals_test_%'"));
  assert.is(left.rowCount, 0);
});

test.run();
