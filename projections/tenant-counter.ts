import { add, type Change } from './projection.ts';
import type { Table } from './table.ts';

/**
 * Creates a counter of the resources of one kind in each tenant, from which lists get the header Total-Count without
 * counting rows. Its table is `<noun>_counts`, with one row per tenant. `counter` is the name of the column with the
 * count.
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
