import * as assert from 'uvu/assert';
import { chunkStream } from '../../domain/bodies/delivery-body.ts';
import { sampleEvents } from '../../domain/integrations/sample-delivery.ts';
import { omit } from '../../domain/omit.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import { compareText } from '../../projections/column-values.ts';
import { deliveryById } from '../../projections/deliveries/delivery.queries.ts';
import { deliveries } from '../../projections/deliveries/delivery.ts';
import { deliveryPage } from '../../projections/deliveries/delivery-list.queries.ts';
import { withRedeliveries } from '../../projections/deliveries/delivery-redeliveries.ts';
import type { DeliveryFilter } from '../../projections/deliveries/delivery-selection.ts';
import { integrationById, integrationPage } from '../../projections/integrations/integration.queries.ts';
import { integrations } from '../../projections/integrations/integration.ts';
import type { Row } from '../../projections/projection.ts';
import type { Page } from '../../projections/read-model.ts';
import { comparableRows, foldedRows, rowsIn, startProjectionPlatform, waitForProjection } from '../fixtures/live-projections.ts';
import { freshDatabase } from '../fixtures/test-services.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

/**
 * Returns a function that compares rows for sorting: by a column with times, the newest first. Among rows with the same
 * time, the greatest id comes first.
 */
const byTime = (column: string) => (a: Row, b: Row) =>
  compareText(b[column] as string, a[column] as string) || compareText(b.id as string, a.id as string);

/**
 * Returns the items that a list of the `selected` deliveries must have. `rows` are all deliveries of the integration. A
 * delivery is a suspected replay if an earlier delivery of the integration had the same body.
 */
const listed = (rows: readonly Row[], selected: readonly Row[]): object[] =>
  selected.toSorted(byTime('received_at')).map((row) => {
    const [first] = rows.filter(({ sha256 }) => sha256 === row.sha256).toSorted((a, b) => byTime('received_at')(b, a));
    const delivery = omit(withRedeliveries(JSON.parse(row.list_doc as string)), 'place', 'last_report', 'last_texts');
    return { ...delivery, replay_suspect: row.sha256 !== null && first!.id !== row.id, preview: null };
  });

test('the rows of integrations and deliveries in Postgres equal those that the log yields, and each query returns exactly the selected rows', async () => {
  const given = await createWebhookPlatform({ event_filter: ['push'] });
  await given.deliver('{"a":1}', { 'x-github-delivery': 'één · "quoted" \\' });
  await given.deliver('{"a":1}', { 'x-github-delivery': '2' });
  await given.deliver('{"half":', { 'x-github-delivery': '3', 'x-github-event': 'ping' });
  const { json } = await given.deliver('\ufeff', { 'x-github-delivery': '4' });
  await given.deliver('{}', { 'x-hub-signature-256': null, 'user-agent': 'x'.repeat(3_000) });
  await given.call('POST', `webhook-integrations/${given.hook}/rotate-secret`, {});
  await given.deliver('{"b":1}', { 'x-github-delivery': '5' });
  await given.deliver('{"c":1}', { 'x-github-delivery': '6' });
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
  const integration = { tenant_id: given.tenant_id, integration_id: given.hook };
  const pages = async (filter: DeliveryFilter): Promise<object[][]> => {
    const found: object[][] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: Page = await deliveryPage(
        reads,
        { ...integration, ...filter },
        () => true,
        { ...window, cursor },
        { openTexts: async () => null },
      );
      found.push(JSON.parse(page.body) as object[]);
      cursor = page.next;
    }
    return found;
  };
  const rows = await foldedRows(given.log, deliveries, 'deliveries');
  const inThrees = (items: readonly object[]) => [0, 3, 6].map((at) => items.slice(at, at + 3)).filter(({ length }) => length > 0);
  const accepted = rows.filter(({ outcome }) => outcome === 'accepted');
  assert.ok(rows.length > 6 && accepted.length > 3, `${rows.length} rows, ${accepted.length} of them accepted`);
  assert.is(listed(rows, rows).filter((item) => 'replay_suspect' in item && item.replay_suspect).length, 1);
  assert.equal(await pages({}), inThrees(listed(rows, rows)));
  assert.equal(await pages({ outcome: 'accepted', from: '2020-01-01T00:00:00Z' }), inThrees(listed(rows, accepted)));
  assert.equal(await pages({ to: '2020-01-01T00:00:00Z' }), [[]]);

  const row = rows.find(({ id }) => id === json.id)!;
  const stored = withRedeliveries(JSON.parse(row.doc as string));
  const kept = omit(stored, 'place', 'failures', 'last_report', 'last_texts', 'stopped');
  const { reports, expired_at, ...delivery } = kept;
  type Step = { readonly actor: object };
  const causation = (delivery.causation as readonly Step[]).map((step) => ({
    ...step,
    ...{ actor: { ...step.actor, name: null }, published_at: null },
  }));
  const found = { delivery: { ...delivery, causation, expired: expired_at }, revision: row.revision, reports };
  assert.equal(await deliveryById(reads, given.tenant_id, json.id as string), found);
  assert.is(await deliveryById(reads, 'another', json.id as string), null);

  const publicUrl = 'https://annals.test';
  const connected = (await foldedRows(given.log, integrations, 'integrations')).filter((one) => !one.disconnected);
  const shown = connected.toSorted(byTime('created_at')).map(({ doc, revision }) => {
    const item = JSON.parse(doc as string) as { id: string; url: string };
    return { item: { ...item, url: publicUrl + item.url, test_events: [...sampleEvents('github')] }, revision };
  });
  const hook = shown.find(({ item }) => item.id === given.hook)!;
  assert.equal(await integrationById(reads, given.tenant_id, given.hook, publicUrl), {
    doc: JSON.stringify(hook.item),
    revision: hook.revision,
  });
  assert.is(await integrationById(reads, given.tenant_id, disconnected, publicUrl), null);
  const page = await integrationPage(reads, { tenant_id: given.tenant_id, publicUrl }, {}, newest);
  assert.equal([JSON.parse(page.body), page.next], [shown.map(({ item }) => item), null]);
  await close();
  await given.close();
});

test('the events with the chunks of a large body create no row and delay no projection, even if they are the last events of the log', async () => {
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
