import { add, type Change } from './projection.ts';
import type { Table } from './table.ts';

/**
 * Creates a counter of the resources of one kind in each tenant. With it, lists get the header Total-Count without
 * counting rows. The table is `<noun>_counts`, with one row per tenant, and `counter` is the name of the column with
 * the count.
 */
export const tenantCounter = <const Noun extends string, const Counter extends string>(noun: Noun, counter: Counter) => {
  const table = {
    name: `${noun}_counts`,
    key: ['tenant_id'],
    columns: { tenant_id: 'text' },
    counters: [counter],
    countersOnly: true,
    docs: {},
  } as const satisfies Table;
  return {
    table,
    add: (tenant_id: string, amount: number): Change => add(table.name, { tenant_id }, { [counter]: amount }),
  };
};
