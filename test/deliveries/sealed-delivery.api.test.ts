import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { Recorded } from '../../domain/event.ts';
import { omit } from '../../domain/omit.ts';
import { type Log, LogError } from '../../infra/eventstore/event-log.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

const CANARY = 'canary-7f3a in the body of a delivery';
const BODY = JSON.stringify({ note: CANARY });
const LARGE = Buffer.from(JSON.stringify({ note: CANARY, filler: 'x'.repeat(1_900_000) }));

const given = async () => {
  const hook = await createWebhookPlatform();
  afterTest(hook.close);
  const deliver = async (id: string, body: string | Buffer = BODY): Promise<string> => {
    const answer = await hook.deliver(body, { 'x-github-delivery': id, 'content-length': String(Buffer.byteLength(body)) });
    assert.is(answer.status, 202, answer.text);
    return answer.json.id as string;
  };
  /** Simulates another process of the same platform. It uses `log`, a modified version of the platform's log. */
  const beside = async (log: Log) => {
    const other = await hook.startSecondProcess(log);
    afterTest(other.close);
    const get = (path: string) => other.request(`${hook.tenant}/${path}`, { headers: { authorization: `Bearer ${hook.key}` } });
    return { ...other, get };
  };
  return { ...hook, deliver, post: hook.deliver, beside };
};

type Given = Awaited<ReturnType<typeof given>>;

/** Returns the platform's log with one change: `read` handles the reads of the tenant's key stream. */
const withKeys = ({ log, tenant_id }: Given, read: Log['read']): Log => ({
  ...log,
  read: (stream, options) => (stream === `key-${tenant_id}.vault` ? read(stream, options) : log.read(stream, options)),
});

const bytesOf = ({ data }: Recorded): Buffer => Buffer.from(data instanceof Uint8Array ? data : JSON.stringify(data));

test('no event and no log line contains the body of a delivery; a request for the body by a caller who may read it gets the original bytes', async () => {
  const hook = await given();
  const ids = [await hook.deliver('small'), await hook.deliver('large', LARGE)];
  for (const event of hook.log.events) {
    assert.not.ok(bytesOf(event).includes('canary'), event.type);
    assert.not.ok(JSON.stringify(event.meta).includes('canary'), event.type);
  }
  assert.not.match(hook.lines.join('\n'), /canary/);
  assert.is(hook.ofType('WebhookAccepted', 'DeliveryBodyPart').length, 5);
  assert.is((await hook.call('GET', `deliveries/${ids[0]}/body`)).text, BODY);
  assert.is((await hook.call('GET', `deliveries/${ids[1]}/body`)).text, LARGE.toString());
  await hook.waitForProjections();
  const [small, large] = [await hook.call('GET', `deliveries/${ids[0]}`), await hook.call('GET', `deliveries/${ids[1]}`)];
  assert.equal([small.json.payload, small.json.payload_missing], [JSON.parse(BODY), null]);
  assert.equal([large.json.payload, large.json.payload_missing], [null, 'too_large']);
  assert.is(small.json.sealed, undefined, 'how the body is sealed is not part of the delivery');
});

test('a list with `preview=true` shows fields of the payloads, which no read model contains; after the keys are destroyed, it shows none', async () => {
  const hook = await given();
  const [small, large] = [await hook.deliver('small'), await hook.deliver('large', LARGE)];
  await hook.waitForProjections();
  const previews = async (query: string) => {
    const listed = JSON.parse((await hook.call('GET', `deliveries${query}`)).text) as { id: string; preview: unknown }[];
    return Object.fromEntries(listed.map(({ id, preview }) => [id, preview]));
  };
  assert.equal(await previews(''), { [small]: null, [large]: null });
  for (let read = 0; read < 2; read++)
    assert.equal(await previews('?preview=true'), { [small]: [{ name: 'note', value: CANARY }], [large]: [] });
  const integration = (await hook.call('GET', `deliveries/${small}`)).json.integration_id;
  const { text } = await hook.call('GET', `webhook-integrations/${integration}/deliveries?preview=true&sort=received_at&limit=1`);
  assert.equal(JSON.parse(text)[0].preview, [{ name: 'note', value: CANARY }]);
  await hook.vault.destroyDataKeys(hook.tenant_id);
  assert.equal((await previews('?preview=true'))[small], null);
});

test('the body of a blocked delivery is encrypted, too', async () => {
  const hook = await given();
  await hook.post(`{"half": "${CANARY}`);
  const [blocked] = hook.ofType('WebhookBlocked');
  assert.not.ok(bytesOf(blocked!).includes('canary'));
  await hook.waitForProjections();
  assert.is((await hook.call('GET', `deliveries/${blocked!.id}`)).json.payload, `{"half": "${CANARY}`);
});

test('a delivery that was recorded before bodies were encrypted can be read', async () => {
  const hook = await given();
  await hook.deliver('sealed');
  const [sealed] = hook.accepted();
  const facts = omit(sealed!.meta.facts!, 'sealed');
  const id = 'c0123456789abcdefghijklmn';
  const meta = { ...sealed!.meta, facts: { ...facts, provider_delivery_id: 'old' } };
  await hook.log.append(`delivery-${hook.tenant_id}.${id}`, 'none', [
    { id: randomUUID(), type: 'WebhookAccepted', data: Buffer.from(BODY), meta },
  ]);
  await hook.waitForProjections();
  assert.equal((await hook.call('GET', `deliveries/${id}`)).json.payload, JSON.parse(BODY));
  assert.is((await hook.call('GET', `deliveries/${id}/body`)).text, BODY);
});

test('bodies that were swapped between two deliveries are not returned: the facts of the deliveries report the damage, /body gets 500, and an error is logged', async () => {
  const hook = await given();
  const ids = [await hook.deliver('one'), await hook.deliver('two', '{"two":2}')];
  const [one, two] = hook.accepted() as { data: Uint8Array; meta: Recorded['meta'] }[];
  [one!.data, two!.data] = [two!.data, one!.data];
  await hook.waitForProjections();
  for (const id of ids) {
    const detail = await hook.call('GET', `deliveries/${id}`);
    assert.equal([detail.status, detail.json.payload, detail.json.payload_missing], [200, null, 'damaged']);
    const body = await hook.call('GET', `deliveries/${id}/body`);
    assert.equal([body.status, body.json.code], [500, 'internal']);
    assert.match(body.text, /The stored body is damaged/);
  }
  assert.match(hook.lines.join('\n'), /the body of a delivery cannot be opened/);
});

test('a body whose chunks were swapped is not returned', async () => {
  const hook = await given();
  const id = await hook.deliver('large', LARGE);
  const [first, second] = hook.ofType('DeliveryBodyPart') as { data: Uint8Array }[];
  [first!.data, second!.data] = [second!.data, first!.data];
  assert.is((await hook.call('GET', `deliveries/${id}/body`)).status, 500);
});

test("after a tenant's data key is destroyed, the tenant's deliveries are still listed, and show for example the event name; their bodies are shown as erased", async () => {
  const hook = await given();
  const ids = [await hook.deliver('small'), await hook.deliver('large', LARGE)];
  await hook.waitForProjections();
  const gone = withKeys(hook, () => {
    throw new LogError('gone', 'the stream was deleted');
  });
  const other = await hook.beside(gone);
  const list = await other.get(`webhook-integrations/${hook.hook}/deliveries`);
  assert.equal((JSON.parse(list.text) as { id: string }[]).map(({ id }) => id).sort(), [...ids].sort());
  const detail = await other.get(`deliveries/${ids[0]}`);
  assert.equal([detail.status, detail.json.event, detail.json.payload, detail.json.payload_missing], [200, 'push', null, 'erased']);
  for (const id of ids) {
    const body = await other.get(`deliveries/${id}/body`);
    assert.equal([body.status, body.json.code], [404, 'not_found']);
    assert.match(body.text, /The body was erased/);
  }
});

test('while the data key of a tenant is damaged, its deliveries get 503 and nothing is recorded; after the key is restored, they are accepted', async () => {
  const hook = await given();
  const id = await hook.deliver('before');
  await hook.waitForProjections();
  let isDamaged = true;
  const damaged = withKeys(hook, async function* (stream, options) {
    for await (const event of hook.log.read(stream, options)) {
      const data = event.data as { kid: string; wrapped: string };
      yield isDamaged ? { ...event, data: { ...data, wrapped: `${data.wrapped.slice(0, -3)}AAA` } } : event;
    }
  });
  const other = await hook.beside(damaged);
  const before = hook.log.events.length;
  for (const body of [BODY, LARGE]) {
    const refused = await other.post(hook.hook, body, { 'x-github-delivery': 'x', 'content-length': String(body.length) });
    assert.equal([refused.status, refused.json.code], [503, 'unavailable']);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
  }
  assert.is(hook.log.events.length, before);
  const body = await other.get(`deliveries/${id}/body`);
  assert.equal([body.status, body.json.code], [503, 'unavailable']);
  assert.is((await other.get(`deliveries/${id}`)).json.payload_missing, 'key_unavailable');
  isDamaged = false;
  assert.is((await other.post(hook.hook, BODY, { 'x-github-delivery': 'x' })).status, 202);
  assert.is((await other.get(`deliveries/${id}/body`)).text, BODY);
});

test('if another process receives a redelivery, it is recorded as different if its bytes differ, and not if they are the same', async () => {
  const hook = await given();
  await hook.deliver('d-1');
  const other = await hook.beside(hook.log);
  assert.is((await other.post(hook.hook, BODY)).status, 200);
  await other.close();
  assert.is(hook.ofType('WebhookRedeliveryDiffered').length, 0);
  const another = await hook.beside(hook.log);
  assert.is((await another.post(hook.hook, '{"other":1}')).status, 200);
  await another.close();
  assert.is(hook.ofType('WebhookRedeliveryDiffered').length, 1);
});

test.run();
