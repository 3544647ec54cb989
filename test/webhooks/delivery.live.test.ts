import * as assert from 'uvu/assert';
import { chunkStream } from '../../domain/webhooks/delivery-body.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import type { Reads } from '../../projections/read-model.ts';
import { deliveryById, deliveryPage } from '../../projections/webhooks/delivery.queries.ts';
import { deliveries } from '../../projections/webhooks/delivery.ts';
import { integrationById, integrationPage } from '../../projections/webhooks/integration.queries.ts';
import { integrations } from '../../projections/webhooks/integration.ts';
import { comparable, foldedRows, rowsIn, settled, world } from '../fixtures/live-projections.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { givenHook } from '../fixtures/webhook-platform.ts';

test('hooks and deliveries in Postgres are those of the fold, and its queries answer as the ones in memory', async () => {
  const given = await givenHook({ event_filter: ['push'] });
  await given.deliver('{"a":1}', { 'x-github-delivery': 'één · "quoted" \\' });
  await given.deliver('{"a":1}', { 'x-github-delivery': '2' });
  await given.deliver('{"half":', { 'x-github-delivery': '3', 'x-github-event': 'ping' });
  const { json } = await given.deliver('\ufeff', { 'x-github-delivery': '4' });
  await given.deliver('{}', { 'x-hub-signature-256': null, 'user-agent': 'x'.repeat(3_000) });
  await given.call('POST', `webhook-integrations/${given.hook}/rotate-secret`, {});
  await given.deliver('{"b":1}', { 'x-github-delivery': '5' });
  await given.connect({ label: 'NULL \\N {} "' });
  const gone = (await given.connect()).json.id as string;
  await given.call('DELETE', `webhook-integrations/${gone}`);
  await given.ports.close();
  await given.settled();

  const { reads, databaseUrl, close } = await world(given.log, await freshDatabase(), [integrations, deliveries]);
  for (const projection of [integrations, deliveries]) {
    await settled(reads, given.log, projection.name);
    const [table] = projection.tables;
    const rows = comparable(await rowsIn(databaseUrl, projection.name, table!.name));
    assert.equal(rows, comparable(await foldedRows(given.log, projection, table!.name)));
    assert.ok(rows.length >= 3);
  }

  const window = { sort: { column: 'received_at', descending: true }, limit: 3 };
  const newest = { ...window, sort: { ...window.sort, column: 'created_at' } };
  const hook = { tenant_id: given.tenant_id, integration_id: given.hook, marksReplays: true };
  const asked = (from: Reads) =>
    Promise.all([
      deliveryPage(from, hook, {}, window),
      deliveryPage(from, hook, { outcome: 'accepted', from: '2020-01-01T00:00:00Z' }, window),
      deliveryPage(from, hook, { to: '2020-01-01T00:00:00Z' }, window),
      deliveryById(from, given.tenant_id, json.id as string),
      deliveryById(from, 'another', json.id as string),
      integrationById(from, given.tenant_id, given.hook, 'https://annals.test'),
      integrationById(from, given.tenant_id, gone, 'https://annals.test'),
      integrationPage(from, { tenant_id: given.tenant_id, publicUrl: 'https://annals.test' }, {}, newest),
    ]);
  assert.equal(await asked(reads), await asked(given.sink.reads));
  await close();
  await given.close();
});

test('the parts of a large body make no row, and hold no view back, be they the last in the log', async () => {
  const given = await givenHook();
  const body = Buffer.from(`"${'x'.repeat(2_000_000)}"`);
  await given.deliver(body, { 'content-length': String(body.length) });
  const projected = [audit, deliveries];
  const { reads, databaseUrl, close } = await world(given.log, await freshDatabase(), projected);
  const rows = async (projection: (typeof projected)[number]) => {
    await settled(reads, given.log, projection.name);
    const [table] = projection.tables;
    const found = comparable(await rowsIn(databaseUrl, projection.name, table!.name));
    assert.equal(found, comparable(await foldedRows(given.log, projection, table!.name)));
    return found.length;
  };
  const before = [await rows(audit), await rows(deliveries)];
  assert.is(before[1], 1);
  const [part] = given.ofType('DeliveryBodyPart');
  const left = { id: crypto.randomUUID(), type: part!.type, data: part!.data, meta: part!.meta };
  await given.log.append(chunkStream(given.tenant_id, 'c000000000000000000000000', 'another'), 'none', [left]);
  assert.equal([await rows(audit), await rows(deliveries)], before);
  await close();
  await given.close();
});

test.run();
