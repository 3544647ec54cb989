import { createHash, randomBytes, randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { chunkAt, chunkStream, partsField } from '../../domain/bodies/delivery-body.ts';
import { factsOf } from '../../domain/deliveries/delivery.ts';
import { encodeCloudEvent, runnerMessages } from '../../domain/runners/cloud-event.ts';
import { createChunkSealer, writeChunks } from '../../infra/deliveries/body-chunks.ts';
import { type Log, LogError } from '../../infra/eventstore/event-log.ts';
import { SEAL_BYTES, sealBytes } from '../../infra/vault/sealed-bytes.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import { afterTest, test } from '../fixtures/test-with-cleanup.ts';
import { createWebhookPlatform, sign } from '../fixtures/webhook-platform.ts';

const CHUNK_BYTES = 900_000;
const MAX_BODY_BYTES = 26_214_400;

/** Returns a random JSON text of `size` bytes. All its chunks are different, so that mixed-up chunks are detected. */
const json = (size: number): Buffer =>
  Buffer.from(
    `"${randomBytes(Math.ceil(size * 0.75))
      .toString('base64')
      .slice(0, size - 2)}"`,
  );

const lengthOf = (body: Uint8Array) => ({ 'content-length': String(body.length) });
const named = (id: string) => ({ 'x-github-delivery': id });
const sha256 = (body: Uint8Array): string => createHash('sha256').update(body).digest('hex');

const chunked = (body: Uint8Array): ReadableStream =>
  ReadableStream.from(Array.from({ length: Math.ceil(body.length / 65_536) }, (_, n) => body.slice(n * 65_536, (n + 1) * 65_536)));

const given = async (...options: Parameters<typeof createWebhookPlatform>) => {
  const hook = await createWebhookPlatform(...options);
  afterTest(hook.close);
  const deliver = (body: Uint8Array, headers: Record<string, string | null> = {}) => hook.deliver(body, { ...lengthOf(body), ...headers });
  /** Sends a body as a stream, that is, without a Content-Length header. */
  const stream = (body: ReadableStream, headers: Record<string, string> = {}, id = hook.hook) =>
    hook.request(`/hooks/inbound/${id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-github-event': 'push', ...headers },
      body,
      duplex: 'half',
    } as RequestInit);
  const chunks = () => hook.ofType('DeliveryBodyPart');
  const bytes = async (id: unknown): Promise<Buffer> => {
    const response = await hook.app.request(`${hook.tenant}/deliveries/${id}/body`, { headers: { authorization: `Bearer ${hook.key}` } });
    assert.is(response.status, 200);
    return Buffer.from(await response.arrayBuffer());
  };
  return { ...hook, deliver, stream, chunks, bytes };
};

for (const size of [CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES, 2 * CHUNK_BYTES + 1, MAX_BODY_BYTES])
  test(`a body of ${size} bytes is stored in ${size > CHUNK_BYTES ? 'chunks' : 'its event'} and returned unchanged`, async () => {
    const hook = await given();
    const body = json(size);
    const answer = await hook.deliver(body);
    assert.equal([answer.status, answer.json.outcome], [202, 'accepted']);
    const [event] = hook.accepted();
    const { parts, size_bytes, sha256: digest } = factsOf(event!);
    assert.equal([size_bytes, digest], [size, sha256(body)]);
    const lengths = hook.chunks().map(({ data }) => (data as Uint8Array).length);
    const expected = size > CHUNK_BYTES ? Math.ceil(size / CHUNK_BYTES) : undefined;
    assert.is(parts, expected);
    assert.is((event!.data as Uint8Array).length, expected ? 0 : size + SEAL_BYTES);
    assert.is(lengths.length, expected ?? 0);
    assert.ok(lengths.every((length) => length > SEAL_BYTES && length <= CHUNK_BYTES + SEAL_BYTES));
    assert.is(
      lengths.reduce((sum, length) => sum + length - SEAL_BYTES, 0),
      expected ? size : 0,
    );
    assert.ok((await hook.bytes(answer.json.id)).equals(body));
  });

test('a delivery without a Content-Length is accepted, with a small body and with a large one', async () => {
  const hook = await given();
  for (const size of [100, CHUNK_BYTES, CHUNK_BYTES + 1]) {
    const body = json(size);
    const answer = await hook.stream(chunked(body), { ...named(`d-${size}`), 'x-hub-signature-256': sign(body) });
    assert.is(answer.status, 202);
    assert.ok((await hook.bytes(answer.json.id)).equals(body));
  }
  assert.is(hook.chunks().length, 2);
});

test('a delivery with a body above the limit gets 413, and is recorded as rejected if the integration exists', async () => {
  const hook = await given();
  const body = json(MAX_BODY_BYTES + 1);
  const before = hook.log.events.length;
  const endless = () => new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) });
  const answers = [
    await hook.deliver(body),
    await hook.stream(endless(), named('chunked')),
    await hook.stream(endless(), { ...named('huge'), 'content-length': '18446744073709551615' }),
  ];
  for (const { status, json } of answers) assert.equal([status, json.limit], [413, MAX_BODY_BYTES]);
  const unknown = `c${'0'.repeat(24)}`;
  assert.is((await hook.stream(chunked(body), lengthOf(body), unknown)).status, 413);
  assert.is((await hook.stream(endless(), {}, unknown)).status, 404);
  await hook.ports.close();
  const rejections = hook
    .ofType('WebhookRejected')
    .map(({ data }) => data as { reason: string; size_bytes: number; provider_delivery_id: string });
  assert.equal(
    rejections.map(({ reason, provider_delivery_id }) => [reason, provider_delivery_id]),
    [
      ['too_large', 'd-1'],
      ['too_large', 'chunked'],
      ['too_large', 'huge'],
    ],
  );
  assert.is(rejections[0]!.size_bytes, MAX_BODY_BYTES + 1);
  assert.ok(rejections[1]!.size_bytes > MAX_BODY_BYTES);
  assert.is(rejections[2]!.size_bytes, Number.MAX_SAFE_INTEGER);
  assert.is(hook.log.events.length, before + 3);
  await hook.waitForProjections();
  const listed = JSON.parse((await hook.call('GET', `webhook-integrations/${hook.hook}/deliveries`)).text) as { reason: string }[];
  assert.equal(
    listed.map(({ reason }) => reason),
    ['too_large', 'too_large', 'too_large'],
  );
});

test('if two processes receive the same large delivery at the same time, one event and each chunk once are recorded', async () => {
  const hook = await given();
  const beside = await hook.startSecondProcess(hook.log);
  afterTest(beside.close);
  const body = json(3_000_000);
  const posts = Array.from({ length: 6 }, (_, n) => (n % 2 ? hook.post : beside.post)(hook.hook, body, lengthOf(body)));
  const answers = await Promise.all(posts);
  assert.equal(answers.map(({ status }) => status).sort(), [200, 200, 200, 200, 200, 202]);
  assert.equal([hook.accepted().length, hook.chunks().length], [1, 4]);
  assert.ok((await hook.bytes(answers[0]!.json.id)).equals(body));
});

/** Writes the chunks of a delivery without its event. This is the state after a crash between the two writes. */
const writeChunksOnly = async (hook: Awaited<ReturnType<typeof given>>, body: Uint8Array, log: Log) => {
  const integration = (await hook.ports.eligibility.integration(hook.hook))!;
  const facts = { sha256: sha256(body), size_bytes: body.length, ...partsField(body.length), received_at: '2026-01-01T00:00:00.000Z' };
  const id = hook.ports.recording.deliveryId(integration, 'd-1');
  const sealChunk = createChunkSealer(hook.vault, async ({ key, associatedData, plain }) => sealBytes(key, associatedData, plain));
  return writeChunks(log, sealChunk, { integration, id, facts: facts as never, body });
};

test('if a process crashes after it has stored some or all chunks of a delivery, a repeat of the request completes the delivery', async () => {
  for (const written of [2, 4]) {
    const hook = await given();
    const body = json(3_000_000);
    let appends = 0;
    const dying: Log = {
      ...hook.log,
      append: (...args) => {
        if (appends++ < written) return hook.log.append(...args);
        throw new LogError('unavailable', 'the process has ended');
      },
    };
    await writeChunksOnly(hook, body, dying).catch(() => {});
    assert.equal([hook.chunks().length, hook.accepted().length], [written, 0]);
    const answer = await hook.deliver(body);
    assert.is(answer.status, 202);
    assert.equal([hook.chunks().length, hook.accepted().length], [4, 1]);
    assert.ok((await hook.bytes(answer.json.id)).equals(body));
  }
});

test('chunks that are already stored are not written again, even if the event store no longer recognises their event ids', async () => {
  const hook = await given();
  const body = json(3_000_000);
  const integration = (await hook.ports.eligibility.integration(hook.hook))!;
  const id = hook.ports.recording.deliveryId(integration, 'd-1');
  const meta = { tenant: hook.tenant_id, actor: { kind: 'system', id: hook.hook } as const, at: '2026-01-01T00:00:00.000Z', v: 1 };
  const stream = chunkStream(hook.tenant_id, id, sha256(body));
  const chunk = (n: number) => ({ id: randomUUID(), type: 'DeliveryBodyPart', data: chunkAt(body, n), meta });
  await hook.log.append(stream, 'none', [chunk(0)]);
  await hook.log.append(stream, 0, [chunk(1)]);
  assert.is((await hook.deliver(body)).status, 202);
  assert.is(hook.chunks().length, 4);
  assert.ok((await hook.bytes(id)).equals(body));
});

test('if a large body is forged, longer than its Content-Length or cut off, none of its chunks is stored', async () => {
  const hook = await given();
  const body = json(2_000_000);
  for (const header of [null, 'sha256=nothing', sign('another')])
    assert.is((await hook.deliver(body, { 'x-hub-signature-256': header })).status, 401);
  assert.is((await hook.deliver(body, { 'content-length': '1900000' })).status, 400);
  const broken = new ReadableStream({
    pull: (controller) => (controller.desiredSize === 1 ? controller.enqueue(new Uint8Array(9)) : controller.error(new Error('gone'))),
  });
  assert.is((await hook.stream(broken, lengthOf(body))).status, 400);
  assert.equal([hook.chunks().length, hook.accepted().length], [0, 0]);
  await hook.ports.close();
  const sizes = hook.ofType('WebhookRejected').map(({ data }) => (data as { size_bytes: number }).size_bytes);
  assert.equal(sizes, [2_000_000, 2_000_000, 2_000_000]);
});

test('a redelivery with another large body stores no chunks, even if the process that receives it did not receive the first delivery', async () => {
  const hook = await given();
  const beside = await hook.startSecondProcess(hook.log);
  afterTest(beside.close);
  await hook.deliver(json(2_000_000));
  const other = json(2_000_000);
  const answer = await beside.post(hook.hook, other, lengthOf(other));
  assert.equal([answer.status, answer.json.outcome], [200, 'duplicate']);
  await beside.ports.close();
  assert.equal([hook.chunks().length, hook.ofType('WebhookRedeliveryDiffered').length], [3, 1]);
});

test('a delivery with a large body that is not JSON, or that nests too deeply, is blocked, and the bytes of its body are stored', async () => {
  const hook = await given();
  const deep = Buffer.concat([Buffer.from('['.repeat(65)), json(1_000_000), Buffer.from(']'.repeat(65))]);
  for (const body of [json(1_000_000).subarray(1), deep]) {
    const answer = await hook.deliver(body, named(`d-${body.length}`));
    assert.equal([answer.status, answer.json.outcome], [202, 'blocked']);
    assert.ok((await hook.bytes(answer.json.id)).equals(body));
  }
  assert.equal(
    hook.ofType('WebhookBlocked').map((event) => factsOf(event).reason),
    ['not_json', 'too_deep'],
  );
});

test('a delivery with a large form is accepted if the JSON in its field payload is valid, and the whole form is returned', async () => {
  const hook = await given();
  const form = Buffer.from(`payload=${encodeURIComponent(json(1_000_000).toString())}`);
  const answer = await hook.deliver(form, { 'content-type': 'application/x-www-form-urlencoded' });
  assert.is(answer.json.outcome, 'accepted');
  assert.ok((await hook.bytes(answer.json.id)).equals(form));
});

test('the message to a runner contains the URL of a large body; the API shows the size of the body, but never its chunks', async () => {
  const hook = await given();
  const { id } = (await hook.deliver(json(2_000_000))).json;
  const [event] = hook.accepted();
  const { type, message } = runnerMessages.WebhookAccepted!;
  const sent = JSON.parse(Buffer.from(encodeCloudEvent(event!, type, message(event!, 'https://annals.test'))).toString());
  assert.is(sent.dataref, `https://annals.test${hook.tenant}/deliveries/${id}/body`);
  assert.not.ok('data' in sent || 'data_base64' in sent);
  await hook.waitForProjections();
  const detail = await hook.call('GET', `deliveries/${id}`);
  assert.equal([detail.status, detail.json.size_bytes, detail.json.payload, detail.json.parts], [200, 2_000_000, null, undefined]);
  const [listed, ...others] = JSON.parse((await hook.call('GET', `webhook-integrations/${hook.hook}/deliveries`)).text);
  assert.equal([listed.size_bytes, others], [2_000_000, []]);
  const lines = (events: readonly unknown[]) => events.flatMap((one) => audit.every!(one as never)).filter(({ op }) => op === 'insert');
  assert.equal([lines(hook.chunks()).length, lines(hook.accepted()).length], [0, 1]);
  assert.is((await hook.call('HEAD', `deliveries/${id}/body`)).headers.get('content-length'), '2000000');
});

test('if a later chunk of a stored body was altered, reading the body is aborted before its end; if the first chunk was altered, the response is an error', async () => {
  const hook = await given();
  const { id } = (await hook.deliver(json(2_000_000))).json;
  const [first, second] = hook.chunks();
  const request = () => hook.app.request(`${hook.tenant}/deliveries/${id}/body`, { headers: { authorization: `Bearer ${hook.key}` } });
  (second!.data as Uint8Array)[5]! ^= 1;
  const read = await (await request()).arrayBuffer().catch((error: Error) => error.message);
  assert.match(String(read), /The stored body is damaged/);
  assert.match(hook.lines.join('\n'), /a response was aborted/);
  (first!.data as Uint8Array)[5]! ^= 1;
  const refused = await request();
  assert.is(refused.status, 500);
  assert.match(await refused.text(), /The stored body is damaged/);
});

test('while the log is down, a delivery with a large body gets 503; sent again afterwards, it is accepted', async () => {
  const hook = await given();
  await hook.deliver(Buffer.from('{}'), named('warm'));
  const body = json(2_000_000);
  const endOutage = hook.log.outage();
  const answer = await hook.deliver(body);
  assert.is(answer.status, 503);
  assert.ok(Number(answer.headers.get('retry-after')) >= 5);
  endOutage();
  assert.is((await hook.deliver(body)).status, 202);
});

test('five requests that declare large bodies and then stall reserve no memory: a large delivery is still accepted', async () => {
  const hook = await given();
  const stalled: ReadableStreamDefaultController[] = [];
  const stalling = () =>
    hook.stream(new ReadableStream({ start: (controller) => void stalled.push(controller) }), { 'content-length': String(MAX_BODY_BYTES) });
  const waiting = Array.from({ length: 5 }, stalling);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.is((await hook.deliver(json(MAX_BODY_BYTES))).status, 202);
  for (const controller of stalled) controller.error(new Error('gone'));
  assert.equal(
    (await Promise.all(waiting)).map(({ status }) => status),
    [400, 400, 400, 400, 400],
  );
});

test.run();
