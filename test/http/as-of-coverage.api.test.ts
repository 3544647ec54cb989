import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tokenOf } from '../../domain/event.ts';
import * as Acknowledgement from '../../domain/runners/acknowledgement.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { areaCases } from '../fixtures/area-cases.ts';
import type { Answer } from '../fixtures/test-platform.ts';
import { sign } from '../fixtures/webhook-platform.ts';
import { createDataset } from '../two-tenants/dataset.ts';
import { type Call, callsOf, type Document } from '../two-tenants/id-positions.ts';

const dataset = await createDataset();
const { own } = dataset;
const send = (path: string, headers = {}) =>
  dataset.send('GET', path, { key: /\/(?:runtime|package)$/.test(path) ? dataset.keys.runner : dataset.keys.owner, headers });
const end = (): string => tokenOf(dataset.log.events.at(-1)!.position);

/** Records that the runner has acknowledged the delivery, which then appears in reads of the delivery. */
const acknowledgeDelivery = async (): Promise<void> => {
  const { event_id } = dataset.log.events.findLast(({ type, tenant }) => type === 'WebhookAccepted' && tenant === own.tenant)!;
  const notice = {
    delivery_id: own.delivery!,
    event_id,
    at: new Date().toISOString(),
    attempts: 2,
    sequence: 1,
    outcome: 'acknowledged',
  } as const;
  await dataset.systemContext(own.tenant).transact(Acknowledgement, own.agent!, Acknowledgement.recordAdvisories('one', [notice]));
  await dataset.waitForProjections();
};
await acknowledgeDelivery();

/** All reads below `/tenant/`, and those below `/v1/tenants/`. */
const tenantReads = callsOf(dataset.document as unknown as Document).filter(
  ({ method, path }) => method === 'GET' && /^\/(tenant|v1\/tenants)\/\{tenant_id\}/.test(path),
);
const acceptsAsOf = ({ parameters = [] }: Call): boolean => parameters.some(({ name }) => name === 'as_of');
const pathOf = ({ path, idPositions }: Call): string =>
  path.replace(
    /\{(\w+)\}/g,
    (_, name: string) => own[idPositions.find((position) => position.in === 'path' && position.name === name)!.type]!,
  );

/**
 * Returns the body of a response with an empty text in its field `as_of`, the only field in which a live read and a
 * read as of the present may differ.
 */
const bodyOf = ({ body }: Answer): unknown => (body && typeof body === 'object' && 'as_of' in body ? { ...body, as_of: '' } : body);

test("the reads of a tenant's data that do not accept as_of are exactly those that this test lists", () => {
  const lacking = tenantReads.filter((call) => !acceptsAsOf(call)).map(({ operationId }) => operationId);
  assert.equal(lacking.sort(), areaCases.flatMap(({ withoutAsOf = {} }) => Object.keys(withoutAsOf)).sort());
  assert.ok(tenantReads.length - lacking.length >= 10);
});

test('exactly the lists that this test names accept as_of; a request for the list of agents with as_of and a filter or an order is refused', async () => {
  const agent = '/tenant/{tenant_id}/agents/{agent_id}';
  const named = [
    '/tenant/{tenant_id}/agents',
    '/tenant/{tenant_id}/members',
    ...['roles', 'grants', 'models', 'skills', 'tools', 'credentials'].map((list) => `${agent}/${list}`),
  ];
  const lists = tenantReads.filter(({ path }) => named.includes(path));
  assert.equal(lists.map(({ path }) => path).sort(), named.sort());
  for (const call of lists) {
    assert.ok(acceptsAsOf(call), call.operationId);
    if (call.operationId !== 'listAgents') continue;
    for (const more of ['q=x', 'kind=user', 'sort=name'])
      assert.is((await send(`${pathOf(call)}?as_of=${end()}&${more}`)).status, 422, more);
  }
});

test('an as-of read at the end of the log returns the header Projection-Position and the same body and ETag as a read without as_of', async () => {
  for (const call of tenantReads.filter(acceptsAsOf)) {
    const live = await send(pathOf(call));
    assert.is(live.status, 200, `${call.operationId}: ${live.text}`);
    await dataset.waitForProjections();
    const token = end();
    for (const as_of of [token, new Date(Date.now() + 1_000).toISOString()]) {
      const then = await send(`${pathOf(call)}?as_of=${as_of}`, { 'consistency-token': token });
      assert.is(then.status, 200, `${call.operationId}: ${then.text}`);
      assert.equal(bodyOf(then), bodyOf(live), call.operationId);
      assert.is(then.headers.get('etag'), live.headers.get('etag'), call.operationId);
      assert.ok(then.headers.get('projection-position'), call.operationId);
      if (as_of === token) assert.is(then.headers.get('projection-position'), token, call.operationId);
    }
  }
});

test("every JSON response to a read of a tenant's data has the header Projection-Position", async () => {
  const bytes = ['exportAuditLogs', 'streamTenantChanges', 'getDeliveryBody', 'getFile', 'getMailAttachment', 'getSkillPackage'];
  for (const call of tenantReads.filter(({ operationId }) => !bytes.includes(operationId))) {
    const answer = await send(`${pathOf(call)}${call.path.endsWith('/diff') ? '?from=0:0' : ''}`);
    assert.is(answer.status, 200, `${call.operationId}: ${answer.text}`);
    assert.match(answer.headers.get('projection-position') ?? '', /^\d+:\d+$/, call.operationId);
  }
});

test('as of a position before the first event, no resource exists and every list is empty', async () => {
  for (const call of tenantReads.filter(acceptsAsOf)) {
    const then = await send(`${pathOf(call)}?as_of=0:0`);
    assert.ok(then.status === 404 || then.text === '[]', `${call.operationId}: ${then.status} ${then.text}`);
  }
});

test("an as-of read of a delivery shows the delivery's state at that position, even if the runner handled other deliveries in between", async () => {
  const { tenant } = own;
  const path = `/tenant/${tenant}/deliveries/${own.delivery}`;
  const accepted = dataset.log.events.find(({ type, id }) => type === 'WebhookAccepted' && id === own.delivery)!;
  const ctx = dataset.systemContext(tenant);
  const hook = (
    await dataset.send('POST', `/tenant/${tenant}/webhook-integrations`, {
      key: dataset.keys.owner,
      body: { provider: 'github', agent_id: own.agent, label: 'Other' },
    })
  ).body as { url: string; secret: string };
  const others = await Promise.all(
    Array.from({ length: 3 }, async (_, n) => {
      const headers = { 'x-github-delivery': `other-${n}`, 'x-github-event': 'ping', 'x-hub-signature-256': sign('{}', hook.secret) };
      const answer = await dataset.send('POST', new URL(hook.url).pathname, { key: '', raw: '{}', headers });
      const delivery_id = (answer.body as { id: string }).id;
      return { delivery_id, event_id: accepted.event_id, at: new Date().toISOString(), attempts: 1 };
    }),
  );
  const recordOutcomes = (sequence: number, outcome: 'acknowledged' | 'max_deliveries', isOwn: boolean) => {
    const about = (isOwn ? [{ ...others[0]!, delivery_id: own.delivery! }, others[1]!] : others).map((one) => ({
      ...one,
      attempts: sequence,
    }));
    return ctx.transact(
      Acknowledgement,
      own.agent!,
      Acknowledgement.recordAdvisories(
        'two',
        about.map((one, index) => ({
          ...one,
          at: new Date(Date.now() + sequence).toISOString(),
          sequence: sequence * 10 + index,
          outcome,
        })),
      ),
    );
  };
  const steps: [string, unknown][] = [[tokenOf(accepted.position), []]];
  for (const [sequence, outcome, isOwn] of [
    [1, 'acknowledged', false],
    [2, 'max_deliveries', true],
    [3, 'acknowledged', false],
    [4, 'acknowledged', true],
    [5, 'max_deliveries', false],
  ] as const) {
    const recorded = await recordOutcomes(sequence, outcome, isOwn);
    const token = tokenOf(recorded.position!);
    // An acknowledgement changes the response of a read of the delivery, but not the ETag, which is the revision of the
    // delivery's own stream. So If-None-Match must not lead to 304.
    const { attempts } = (await send(path, { 'consistency-token': token, 'if-none-match': '*' })).body as { attempts: unknown };
    steps.push([token, attempts]);
  }
  assert.is(new Set(steps.map(([, attempts]) => JSON.stringify(attempts))).size, 4);
  for (const [token, attempts] of steps) {
    const then = await send(`${path}?as_of=${token}`);
    assert.equal((then.body as { attempts: unknown }).attempts, attempts, token);
  }
  const last = dataset.log.events.at(-1)!.position;
  dataset.projectionDelay.ms = 300;
  const late = await recordOutcomes(6, 'max_deliveries', true);
  const then = await send(`${path}?as_of=${tokenOf(late.position!)}`);
  assert.is((then.body as { outcome: string }).outcome, 'dead', 'though the projection has not applied it yet');
  assert.is(((await send(`${path}?as_of=${tokenOf(last)}`)).body as { attempts: { count: number }[] }).attempts.at(-1)!.count, 4);
  dataset.projectionDelay.ms = 0;
});

test('an as-of read of an integration shows, for the current and for the previous secret, when the last delivery before that position used it', async () => {
  const created = await dataset.send('POST', `/tenant/${own.tenant}/webhook-integrations`, {
    key: dataset.keys.owner,
    body: { provider: 'github', agent_id: own.agent, label: 'Rotated' },
  });
  const { id, url, secret } = created.body as { id: string; url: string; secret: string };
  const path = `/tenant/${own.tenant}/webhook-integrations/${id}`;
  const steps: [string, Answer][] = [];
  const look = async () => {
    await dataset.waitForProjections();
    steps.push([end(), await send(path)]);
  };
  const deliver = async (n: number, by: string) => {
    const headers = { 'x-github-delivery': `rotated-${n}`, 'x-github-event': 'ping', 'x-hub-signature-256': sign('{}', by) };
    assert.is((await dataset.send('POST', new URL(url).pathname, { key: '', raw: '{}', headers })).status, 202);
    await look();
  };
  await look();
  await deliver(1, secret);
  const rotated = await dataset.send('POST', `${path}/rotate-secret`, { key: dataset.keys.owner, body: {} });
  await deliver(2, secret);
  await deliver(3, (rotated.body as { secret: string }).secret);
  await deliver(4, secret);
  const seen = steps.map(([, { body }]) =>
    Object.entries(body as object)
      .filter(([name]) => name.startsWith('last_'))
      .map(([, at]) => at),
  );
  assert.is(new Set(seen.map((one) => JSON.stringify(one))).size, 5);
  for (const [token, live] of steps) assert.equal((await send(`${path}?as_of=${token}`)).body, live.body);
});

test('an as-of read finds a rejected delivery from the position of its rejection on, but not before', async () => {
  const hook = (await send(`/tenant/${own.tenant}/webhook-integrations/${own.integration}`)).body as { url: string };
  const before = end();
  await dataset.send('POST', new URL(hook.url).pathname, { key: '', raw: '{}', headers: { 'x-hub-signature-256': 'sha256=00' } });
  for (let waits = 0; dataset.eventsOf('WebhookRejected').length === 0 && waits < 100; waits++) await sleep(50);
  await dataset.waitForProjections();
  const [refused] = dataset.eventsOf('WebhookRejected').slice(-1);
  const path = `/tenant/${own.tenant}/deliveries/${(refused!.data as { delivery_id: string }).delivery_id}`;
  const live = await send(path);
  assert.is(live.status, 200, live.text);
  assert.equal((await send(`${path}?as_of=${tokenOf(refused!.position)}`)).body, live.body);
  assert.is((await send(`${path}?as_of=${before}`)).status, 404);
});

afterLastTest(() => dataset.close());

test.run();
