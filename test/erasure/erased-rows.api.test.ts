import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openMemoryStore } from '../../projections/engine/memory-store.ts';
import { projections } from '../../projections/registry.ts';
import { tenantColumnOf } from '../../projections/table.ts';
import { createDataset } from '../two-tenants/dataset.ts';

const TABLES = projections.flatMap((projection) => projection.tables.map((table) => ({ projection: projection.name, table })));

test('a rebuild after the erasure of a tenant writes all rows of the other tenants and none of the erased tenant, and parks no event', async () => {
  const p = await createDataset();
  const [home, away] = [p.own.tenant, p.foreign.tenant].map((tenant) => ({ id: tenant!.split('/').at(-1)! })) as [
    { id: string },
    { id: string },
  ];
  const before = openMemoryStore(projections);
  before.feed(p.log.events);
  const { status } = await p.send('DELETE', `/admin/tenants/${away.id}`, { body: { reason: 'a test' } });
  assert.is(status, 202);
  const rebuilt = openMemoryStore(projections, { isErased: (tenant) => tenant === away.id });
  rebuilt.feed(p.log.events);
  for (const { name } of projections) assert.equal(rebuilt.unapplied(name), [], name);
  let erased = 0;
  for (const { projection, table } of TABLES) {
    const [old, rows] = [before, rebuilt].map((store) => store.rows(projection, table.name)) as [
      ReturnType<typeof before.rows>,
      ReturnType<typeof before.rows>,
    ];
    const column = tenantColumnOf(table);
    const rowsOf = (tenant: string) => [...rows.values()].filter(({ row }) => column && row[column] === tenant && row.id !== tenant);
    assert.equal(rowsOf(away.id), [], `${projection}.${table.name}`);
    for (const [key, { row }] of old) {
      if (column && row[column] === away.id && row.id !== away.id) erased += 1;
      else if (table.name !== 'tenants' || row.id !== away.id) assert.ok(rows.has(key), `${projection}.${table.name} ${key}`);
    }
  }
  assert.ok(erased > 100, `${erased} rows were erased`);
  assert.not(rebuilt.rows('tenants', 'tenants').has(away.id));
  assert.ok(rebuilt.rows('tenants', 'tenants').has(home.id));
  await p.close();
});

test.run();
