import pino from 'pino';
import * as assert from 'uvu/assert';
import { openPool } from '../../infra/postgres/pool.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const FAILING = [
  { sql: 'select * from missing', keeps: true },
  { sql: 'select * from missing.table_of_it', keeps: true },
  { sql: 'select missing from (select 1) as found', keeps: true },
  { sql: 'select 1 / 0', keeps: false },
  { sql: `do $$ begin raise exception 'changed' using errcode = '0A000'; end $$`, keeps: false },
];

for (const { sql, keeps } of FAILING)
  test(`a pool ${keeps ? 'keeps' : 'closes'} the connection on which this failed: ${sql.slice(0, 50)}`, async () => {
    const pool = openPool(await freshDatabase(), pino({ level: 'silent' }), 'test', { max: 1 });
    const pid = async () => (await pool.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
    const before = await pid();
    const failed = await pool.query(sql).then(
      () => false,
      () => true,
    );
    assert.ok(failed);
    assert.is((await pid()) === before, keeps);
    await pool.end();
  });

test('a pool returns times in UTC with milliseconds, however many digits of the second PostgreSQL writes', async () => {
  const pool = openPool(await freshDatabase(), pino({ level: 'silent' }), 'test', { max: 1 });
  const fractions = ['', '.1', '.12', '.123', '.123456'];
  const times = fractions.map((fraction) => `2026-11-29T23:59:59${fraction}+02:00`);
  const { rows } = await pool.query<{ at: string }>('select unnest($1::timestamptz[]) as at', [times]);
  assert.equal(
    rows.map(({ at }) => at),
    ['000', '100', '120', '123', '123'].map((milliseconds) => `2026-11-29T21:59:59.${milliseconds}Z`),
  );
  await pool.end();
});

test.run();
