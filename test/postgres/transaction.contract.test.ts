import type pg from 'pg';
import pino from 'pino';
import * as assert from 'uvu/assert';
import { arrayText, openPool, preparedStatement } from '../../infra/postgres/pool.ts';
import { inTransaction, type Statement } from '../../infra/postgres/transaction.ts';
import { commitBatch, isCheckpointConflict } from '../../infra/projector/commit-batch.ts';
import type { WriteSet } from '../../infra/projector/projection-writer.ts';
import { createSystemTables } from '../../infra/projector/schema.ts';
import { compileProjection } from '../../projections/engine/compiled-projection.ts';
import { ideas } from '../fixtures/test-projection.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const logger = pino({ level: 'silent' });

/** Opens two pipelined connections, like those of the projector, and creates a table named notes. */
const connections = async () => {
  const pool = openPool(await freshDatabase(), logger, 'test', { pipeline: true });
  const clients = [await pool.connect(), await pool.connect()] as const;
  await clients[0].query('create table notes (id integer primary key, text text)');
  const end = async () => {
    for (const client of clients) client.release();
    await pool.end();
  };
  return { clients, end };
};

const insertStatement = preparedStatement('insert into notes select * from unnest($1::integer[], $2::text[])');
const renameStatement = preparedStatement('update notes set text = $2 where id = $1::integer returning text');
const note = (ids: readonly number[], text = 'as it is'): Statement => ({
  ...insertStatement,
  values: [arrayText(ids), arrayText(ids.map(() => text))],
});
const rename = (id: number, text: string): Statement => ({ ...renameStatement, values: [String(id), text] });

const notes = async (client: pg.Client): Promise<[number, string][]> =>
  (await client.query<{ id: number; text: string }>('select id, text from notes order by id')).rows.map(({ id, text }) => [id, text]);

const failureOf = (work: Promise<unknown>): Promise<Error & { code?: string }> =>
  work.then(
    () => assert.unreachable('the call did not fail'),
    (error) => error,
  );

test('statements that are sent together form one transaction, and after a failure the connection is still usable', async () => {
  const { clients, end } = await connections();
  const [client] = clients;
  // Let the first transaction on this connection fail, at its last statement. At this time, no statement is prepared
  // yet.
  const failed = await failureOf(inTransaction(client, [note([1, 2]), rename(1, 'new'), note([2])]));
  assert.is(failed.code, '23505');
  assert.equal(await notes(client), []);
  await inTransaction(client, [note([1, 2]), rename(2, 'another "name"\\')]);
  assert.is((await failureOf(inTransaction(client, [note([3]), note([1])]))).code, '23505');
  // Make three calls without waiting in between. Each call must get its own response.
  const [, stored, failedLater] = await Promise.all([
    inTransaction(client, [rename(1, 'new')]),
    notes(client),
    failureOf(inTransaction(client, [note([7]), note([7])])),
  ]);
  assert.equal(stored, [
    [1, 'new'],
    [2, 'another "name"\\'],
  ]);
  assert.is(failedLater.code, '23505');
  assert.equal(await notes(client), stored);
  await end();
});

test('a transaction of many large statements stores all of its rows', async () => {
  const { clients, end } = await connections();
  const text = 'a line of some length, with a "quote" and an é '.repeat(20);
  const parts = Array.from({ length: 40 }, (_, part) =>
    note(
      Array.from({ length: 200 }, (_, line) => part * 200 + line),
      text,
    ),
  );
  await inTransaction(clients[0], parts);
  const { rows } = await clients[0].query('select count(*)::integer as count, count(distinct text)::integer as texts from notes');
  assert.equal(rows, [{ count: 8_000, texts: 1 }]);
  await end();
});

test('if the connection is cut during a transaction, the transaction fails with an error', async () => {
  const { clients, end } = await connections();
  const [mine, other] = clients;
  await inTransaction(mine, [note([1])]);
  const { rows } = await mine.query<{ pid: number }>('select pg_backend_pid() as pid');
  await other.query('begin');
  await inTransaction(other, [rename(1, 'held')]);
  const waiting = failureOf(inTransaction(mine, [note([2]), rename(1, 'never')]));
  await other.query('select pg_terminate_backend($1)', [rows[0]!.pid]);
  assert.instance(await waiting, Error);
  await other.query('commit');
  assert.equal(await notes(other), [[1, 'held']]);
  await end();
});

const at = (commit: number) => ({ commit: BigInt(commit), prepare: BigInt(commit) });

const writeSet = (name: string, from: number | null, to: number): WriteSet => ({
  name,
  from: from === null ? null : at(from),
  checkpoint: from === null ? null : at(from),
  to: at(to),
  lastEventAt: null,
  eventCount: 1,
  store: { schema: name, tables: new Map() },
  compiled: compileProjection(ideas),
  writes: new Map(),
  assumedAbsent: new Map(),
  unapplied: [],
});

test("if another writer has moved one of the checkpoints of a batch, the whole batch fails, and none of the batch's checkpoints moves", async () => {
  const { clients, end } = await connections();
  const [client] = clients;
  await createSystemTables(client);
  await client.query(`insert into annals.checkpoints (name, version, shape) values ('one', 1, ''), ('two', 1, '')`);
  await commitBatch(client, [writeSet('one', null, 10), writeSet('two', null, 10)]);
  await commitBatch(client, [writeSet('two', 10, 20)]);
  const failed = await failureOf(commitBatch(client, [writeSet('one', 10, 30), writeSet('two', 10, 30)]));
  assert.ok(isCheckpointConflict(failed), failed.message);
  const { rows } = await client.query('select name, commit_position::integer as at from annals.checkpoints order by name');
  assert.equal(rows, [
    { name: 'one', at: 10 },
    { name: 'two', at: 20 },
  ]);
  await end();
});

test.run();
