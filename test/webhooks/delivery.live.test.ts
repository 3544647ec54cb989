import * as assert from 'uvu/assert';
import { chunkStream } from '../../domain/webhooks/delivery-body.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import type { Reads } from '../../projections/read-model.ts';
import { deliveryById, deliveryPage } from '../../projections/webhooks/delivery.queries.ts';
import { deliveries } from '../../projections/webhooks/delivery.ts';
import { integrationById, integrationPage } from '../../projections/webhooks/integration.queries.ts';
import { integrations } from '../../projections/webhooks/integration.ts';
import { comparableRows, foldedRows, rowsIn, startProjectionPlatform, waitForProjection } from '../fixtures/live-projections.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

test('the rows of integrations and deliveries in Postgres equal the fold of the log, and queries return the same as in memory', async () => {
  const given = await createWebhookPlatform({ event_filter: ['push'] });
  await given.deliver('{"a":1}', { 'x-github-delivery': 'één · "quoted" \\' });
  await given.deliver('{"a":1}', { 'x-github-delivery': '2' });
  await given.deliver('{"half":', { 'x-github-delivery': '3', 'x-github-event': 'ping' });
  const { json } = await given.deliver('\ufeff', { 'x-github-delivery': '4' });
  await given.deliver('{}', { 'x-hub-signature-256': null, 'user-agent': 'x'.repeat(3_000) });
  await given.call('POST', `webhook-integrations/${given.hook}/rotate-secret`, {});
  await given.deliver('{"b":1}', { 'x-github-delivery': '5' });
  await given.connect({ label: 'NULL \\N {} "' });
  const disconnected = (await given.connect()).json.id as string;
  await given.call('DELETE', `webhook-integrations/${disconnected}`);
  await given.ports.close();
  await given.waitForProjections();

  const { reads, databaseUrl, close } = await startProjectionPlatform(given.log, await freshDatabase(), [integrations, deliveries]);
  for (const projection of [integrations, deliveries]) {
    await waitForProjection(reads, given.log, projection.name);
    const [table] = projection.tables;
    const rows = comparableRows(await rowsIn(databaseUrl, projection.name, table!.name));
    assert.equal(rows, comparableRows(await foldedRows(given.log, projection, table!.name)));
    assert.ok(rows.length >= 3);
  }

  const window = { sort: { column: 'received_at', descending: true }, limit: 3 };
  const newest = { ...window, sort: { ...window.sort, column: 'created_at' } };
  const integration = { tenant_id: given.tenant_id, integration_id: given.hook, marksReplays: true };
  const answersOf = (from: Reads) =>
    Promise.all([
      deliveryPage(from, integration, {}, window),
      deliveryPage(from, integration, { outcome: 'accepted', from: '2020-01-01T00:00:00Z' }, window),
      deliveryPage(from, integration, { to: '2020-01-01T00:00:00Z' }, window),
      deliveryById(from, given.tenant_id, json.id as string),
      deliveryById(from, 'another', json.id as string),
      integrationById(from, given.tenant_id, given.hook, 'https://annals.test'),
      integrationById(from, given.tenant_id, disconnected, 'https://annals.test'),
      integrationPage(from, { tenant_id: given.tenant_id, publicUrl: 'https://annals.test' }, {}, newest),
    ]);
  assert.equal(await answersOf(reads), await answersOf(given.memoryStore.reads));
  await close();
  await given.close();
});

test('the chunks of a large body create no row and delay no projection, even if they are the last events of the log', async () => {
  const given = await createWebhookPlatform();
  const body = Buffer.from(`"${'x'.repeat(2_000_000)}"`);
  await given.deliver(body, { 'content-length': String(body.length) });
  const projections = [audit, deliveries];
  const { reads, databaseUrl, close } = await startProjectionPlatform(given.log, await freshDatabase(), projections);
  const rows = async (projection: (typeof projections)[number]) => {
    await waitForProjection(reads, given.log, projection.name);
    const [table] = projection.tables;
    const found = comparableRows(await rowsIn(databaseUrl, projection.name, table!.name));
    assert.equal(found, comparableRows(await foldedRows(given.log, projection, table!.name)));
    return found.length;
  };
  const before = [await rows(audit), await rows(deliveries)];
  assert.is(before[1], 1);
  const [chunk] = given.ofType('DeliveryBodyPart');
  const orphan = { id: crypto.randomUUID(), type: chunk!.type, data: chunk!.data, meta: chunk!.meta };
  await given.log.append(chunkStream(given.tenant_id, 'c000000000000000000000000', 'another'), 'none', [orphan]);
  assert.equal([await rows(audit), await rows(deliveries)], before);
  await close();
  await given.close();
});

test.run();
