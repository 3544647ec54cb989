import { add, type Change } from './projection.ts';
import type { Reads } from './read-model.ts';
import type { Table } from './table.ts';

/**
 * A counter of the resources of one kind in each tenant. From it, a list gets the header Total-Count without counting
 * rows.
 */
export type TenantCounter = {
  readonly table: Table;
  readonly add: (tenant_id: string, amount: number) => Change;
  readonly read: (reads: Reads, projection: string, tenant_id: string) => Promise<number>;
};

/**
 * Creates a counter. Its table is `<noun>_counts`, with one row per tenant. `counter` is the name of the column with
 * the count.
 */
export const tenantCounter = (noun: string, counter: string): TenantCounter => {
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
    add: (tenant_id, amount) => add(table.name, { tenant_id }, { [counter]: amount }),
    read: (reads, projection, tenant_id) => reads.counter({ projection, table }, { tenant_id }, counter),
  };
};
