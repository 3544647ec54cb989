import { add, type Change } from './projection.ts';
import type { Reads } from './read-model.ts';
import type { Table } from './table.ts';

/** How many of something each tenant has, by which lists tell their Total-Count without counting rows. */
export type Tally = {
  readonly table: Table;
  readonly by: (tenant_id: string, amount: number) => Change;
  readonly of: (reads: Reads, projection: string, tenant_id: string) => Promise<number>;
};

/** A table of `<noun>_counts`, a row a tenant, whose counter bears the noun's name. */
export const tenantCounter = (noun: string, counter: string): Tally => {
  const table: Table = {
    name: `${noun}_counts`,
    key: ['tenant_id'],
    columns: { tenant_id: 'text' },
    counters: [counter],
    countersOnly: true,
    docs: {},
  };
  return {
    table,
    by: (tenant_id, amount) => add(table.name, { tenant_id }, { [counter]: amount }),
    of: (reads, projection, tenant_id) => reads.counter({ projection, table }, { tenant_id }, counter),
  };
};
