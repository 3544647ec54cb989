import { randomUUID } from 'node:crypto';
import type { ClientBase } from 'pg';
import { quoteIdentifier } from './pool.ts';

/** Writes a row to a new table, and rolls everything back. @throws Error of the database if it accepts no changes */
export const testWrite = async (client: Pick<ClientBase, 'query'>): Promise<void> => {
  const schema = quoteIdentifier(`annals_test_${randomUUID()}`);
  await client.query(`begin; create schema ${schema}; create table ${schema}.written as select 1 as value; rollback`);
};
