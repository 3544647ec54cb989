import { createHash, randomBytes, randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { encodeCloudEvent, runnerMessages } from '../../domain/runners/cloud-event.ts';
import { factsOf } from '../../domain/webhooks/delivery.ts';
import { chunkAt, chunkCount, chunkStream } from '../../domain/webhooks/delivery-body.ts';
import { type Log, LogError } from '../../infra/eventstore/event-log.ts';
import { writeChunks } from '../../infra/webhooks/body-chunks.ts';
import { audit } from '../../projections/audit/audit-log.ts';
import { afterwards, test } from '../fixtures/test-with-cleanup.ts';
import { givenHook, sign } from '../fixtures/webhook-platform.ts';

const PART = 900_000;
const MAX_BODY_BYTES = 26_214_400;

/** A JSON text of so many bytes, none of whose parts are alike. */
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

const given = async (...asked: Parameters<typeof givenHook>) => {
  const hook = await givenHook(...asked);
  afterwards(hook.close);
  const deliver = (body: Uint8Array, headers: Record<string, string | null> = {}) => hook.deliver(body, { ...lengthOf(body), ...headers });
  /** As it comes without a length. */
  const stream = (body: ReadableStream, headers: Record<string, string> = {}, id = hook.hook) =>
    hook.request(`/hooks/inbound/${id}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-github-event': 'push', ...headers },
      body,
      duplex: 'half',
    } as RequestInit);
  const parts = () => hook.ofType('DeliveryBodyPart');
  const bytes = async (id: unknown): Promise<Buffer> => {
    const response = await hook.app.request(`${hook.tenant}/deliveries/${id}/body`, { headers: { authorization: `Bearer ${hook.key}` } });
    assert.is(response.status, 200);
    return Buffer.from(await response.arrayBuffer());
  };
  return { ...hook, deliver, stream, parts, bytes };
};

for (const size of [PART, PART + 1, 2 * PART, 2 * PART + 1, MAX_BODY_BYTES])
  test(`a body of ${size} bytes is ${size > PART ? 'kept in parts' : 'in its event'}, and comes back as it came`, async () => {
    const hook = await given();
    const body = json(size);
    const answer = await hook.deliver(body);
    assert.equal([answer.status, answer.json.outcome], [202, 'accepted']);
    const [event] = hook.accepted();
    const { parts, size_bytes, sha256: digest } = factsOf(event!);
    assert.equal([size_bytes, digest], [size, sha256(body)]);
    const lengths = hook.parts().map(({ data }) => (data as Uint8Array).length);
    const expected = size > PART ? Math.ceil(size / PART) : undefined;
    assert.is(parts, expected);
    assert.is((event!.data as Uint8Array).length, expected ? 0 : size);
    assert.is(lengths.length, expected ?? 0);
    assert.ok(lengths.every((length) => length > 0 && length <= PART));
    assert.ok((await hook.bytes(answer.json.id)).equals(body));
  });

test('a body whose length nobody says is taken all the same, small or large', async () => {
  const hook = await given();
  for (const size of [100, PART, PART + 1]) {
    const body = json(size);
    const answer = await hook.stream(chunked(body), { ...named(`d-${size}`), 'x-hub-signature-256': sign(body) });
    assert.is(answer.status, 202);
    assert.ok((await hook.bytes(answer.json.id)).equals(body));
  }
  assert.is(hook.parts().length, 2);
});

test('a body above the limit is 413, and noted as rejected where there is such a hook', async () => {
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
  const nobody = `c${'0'.repeat(24)}`;
  assert.is((await hook.stream(chunked(body), lengthOf(body), nobody)).status, 413);
  assert.is((await hook.stream(endless(), {}, nobody)).status, 404);
  await hook.ports.close();
  const noted = hook
    .ofType('WebhookRejected')
    .map(({ data }) => data as { reason: string; size_bytes: number; provider_delivery_id: string });
  assert.equal(
    noted.map(({ reason, provider_delivery_id }) => [reason, provider_delivery_id]),
    [
      ['too_large', 'd-1'],
      ['too_large', 'chunked'],
      ['too_large', 'huge'],
    ],
  );
  assert.is(noted[0]!.size_bytes, MAX_BODY_BYTES + 1);
  assert.ok(noted[1]!.size_bytes > MAX_BODY_BYTES);
  assert.is(noted[2]!.size_bytes, Number.MAX_SAFE_INTEGER);
  assert.is(hook.log.events.length, before + 3);
  await hook.settled();
  const listed = JSON.parse((await hook.call('GET', `webhook-integrations/${hook.hook}/deliveries`)).text) as { reason: string }[];
  assert.equal(
    listed.map(({ reason }) => reason),
    ['too_large', 'too_large', 'too_large'],
  );
});

test('copies of one large delivery at once, in two processes: one event, and its parts once', async () => {
  const hook = await given();
  const beside = await hook.beside(hook.log);
  afterwards(beside.close);
  const body = json(3_000_000);
  const posts = Array.from({ length: 6 }, (_, n) => (n % 2 ? hook.post : beside.post)(hook.hook, body, lengthOf(body)));
  const answers = await Promise.all(posts);
  assert.equal(answers.map(({ status }) => status).sort(), [200, 200, 200, 200, 200, 202]);
  assert.equal([hook.accepted().length, hook.parts().length], [1, 4]);
  assert.ok((await hook.bytes(answers[0]!.json.id)).equals(body));
});

/** What a crash between the parts and the event leaves of a delivery, or one between two parts. */
const crashed = async (hook: Awaited<ReturnType<typeof given>>, body: Uint8Array, log: Log) => {
  const integration = (await hook.ports.eligibility.integration(hook.hook))!;
  const facts = { sha256: sha256(body), size_bytes: body.length, ...chunkCount(body.length), received_at: '2026-01-01T00:00:00.000Z' };
  const id = hook.ports.recording.deliveryId(integration, 'd-1');
  return writeChunks(log, { integration, id, facts: facts as never, body });
};

test('what a crash left of the parts, some or all of them, the next post completes', async () => {
  for (const kept of [2, 4]) {
    const hook = await given();
    const body = json(3_000_000);
    let appends = 0;
    const dying: Log = {
      ...hook.log,
      append: (...asked) => {
        if (appends++ < kept) return hook.log.append(...asked);
        throw new LogError('unavailable', 'the process is gone');
      },
    };
    await crashed(hook, body, dying).catch(() => {});
    assert.equal([hook.parts().length, hook.accepted().length], [kept, 0]);
    const answer = await hook.deliver(body);
    assert.is(answer.status, 202);
    assert.equal([hook.parts().length, hook.accepted().length], [4, 1]);
    assert.ok((await hook.bytes(answer.json.id)).equals(body));
  }
});

test('where a store no longer knows that a repeat is one, what lies there already is passed over', async () => {
  const hook = await given();
  const body = json(3_000_000);
  const integration = (await hook.ports.eligibility.integration(hook.hook))!;
  const id = hook.ports.recording.deliveryId(integration, 'd-1');
  const meta = { tenant: hook.tenant_id, actor: { kind: 'system', id: hook.hook } as const, at: '2026-01-01T00:00:00.000Z', v: 1 };
  const stream = chunkStream(hook.tenant_id, id, sha256(body));
  const part = (n: number) => ({ id: randomUUID(), type: 'DeliveryBodyPart', data: chunkAt(body, n), meta });
  await hook.log.append(stream, 'none', [part(0)]);
  await hook.log.append(stream, 0, [part(1)]);
  assert.is((await hook.deliver(body)).status, 202);
  assert.is(hook.parts().length, 4);
  assert.ok((await hook.bytes(id)).equals(body));
});

test('a large body that is forged, or beyond what is said of it, leaves no part', async () => {
  const hook = await given();
  const body = json(2_000_000);
  for (const header of [null, 'sha256=nothing', sign('another')])
    assert.is((await hook.deliver(body, { 'x-hub-signature-256': header })).status, 401);
  assert.is((await hook.deliver(body, { 'content-length': '1900000' })).status, 400);
  const broken = new ReadableStream({
    pull: (controller) => (controller.desiredSize === 1 ? controller.enqueue(new Uint8Array(9)) : controller.error(new Error('gone'))),
  });
  assert.is((await hook.stream(broken, lengthOf(body))).status, 400);
  assert.equal([hook.parts().length, hook.accepted().length], [0, 0]);
  await hook.ports.close();
  const sizes = hook.ofType('WebhookRejected').map(({ data }) => (data as { size_bytes: number }).size_bytes);
  assert.equal(sizes, [2_000_000, 2_000_000, 2_000_000]);
});

test('a redelivery with other bytes, to a process that knows nothing of the first, writes no parts', async () => {
  const hook = await given();
  const beside = await hook.beside(hook.log);
  afterwards(beside.close);
  await hook.deliver(json(2_000_000));
  const other = json(2_000_000);
  const answer = await beside.post(hook.hook, other, lengthOf(other));
  assert.equal([answer.status, answer.json.outcome], [200, 'duplicate']);
  await beside.ports.close();
  assert.equal([hook.parts().length, hook.ofType('WebhookRedeliveryDiffered').length], [3, 1]);
});

test('what is no JSON, or too deep, is blocked when it is large too, and its bytes kept', async () => {
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

test('a large form is signed as it is, and its payload field is the JSON', async () => {
  const hook = await given();
  const form = Buffer.from(`payload=${encodeURIComponent(json(1_000_000).toString())}`);
  const answer = await hook.deliver(form, { 'content-type': 'application/x-www-form-urlencoded' });
  assert.is(answer.json.outcome, 'accepted');
  assert.ok((await hook.bytes(answer.json.id)).equals(form));
});

test('messages refer to a large body; the list and the detail show its size, and nothing shows its parts', async () => {
  const hook = await given();
  const { id } = (await hook.deliver(json(2_000_000))).json;
  const [event] = hook.accepted();
  const { type, message } = runnerMessages.WebhookAccepted!;
  const said = JSON.parse(Buffer.from(encodeCloudEvent(event!, type, message(event!, 'https://annals.test'))).toString());
  assert.is(said.dataref, `https://annals.test${hook.tenant}/deliveries/${id}/body`);
  assert.not.ok('data' in said || 'data_base64' in said);
  await hook.settled();
  const detail = await hook.call('GET', `deliveries/${id}`);
  assert.equal([detail.status, detail.json.size_bytes, detail.json.payload, detail.json.parts], [200, 2_000_000, null, undefined]);
  const [listed, ...others] = JSON.parse((await hook.call('GET', `webhook-integrations/${hook.hook}/deliveries`)).text);
  assert.equal([listed.size_bytes, others], [2_000_000, []]);
  const lines = (events: readonly unknown[]) => events.flatMap((one) => audit.every!(one as never)).filter(({ op }) => op === 'insert');
  assert.equal([lines(hook.parts()).length, lines(hook.accepted()).length], [0, 1]);
  assert.is((await hook.call('HEAD', `deliveries/${id}/body`)).headers.get('content-length'), '2000000');
});

test('bytes that are not those that were delivered are not handed out as if they were', async () => {
  const hook = await given();
  const { id } = (await hook.deliver(json(2_000_000))).json;
  const [first] = hook.parts();
  (first!.data as Uint8Array)[5]! ^= 1;
  const response = await hook.app.request(`${hook.tenant}/deliveries/${id}/body`, { headers: { authorization: `Bearer ${hook.key}` } });
  const read = await response.arrayBuffer().catch((error: Error) => error.message);
  assert.match(String(read), /does not hold the body/);
  assert.match(hook.lines.join('\n'), /an answer broke off/);
});

test('while the log is down a large body is 503, and taken when it comes again', async () => {
  const hook = await given();
  await hook.deliver(Buffer.from('{}'), named('warm'));
  const body = json(2_000_000);
  const over = hook.log.outage();
  const answer = await hook.deliver(body);
  assert.is(answer.status, 503);
  assert.ok(Number(answer.headers.get('retry-after')) >= 5);
  over();
  assert.is((await hook.deliver(body)).status, 202);
});

test('only so many large bodies are held at once: the next is 503 before it is read; small ones go on', async () => {
  const hook = await given();
  const stalled: ReadableStreamDefaultController[] = [];
  const stalling = () =>
    hook.stream(new ReadableStream({ start: (controller) => void stalled.push(controller) }), { 'content-length': String(MAX_BODY_BYTES) });
  const held = Array.from({ length: 5 }, stalling);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const body = json(MAX_BODY_BYTES);
  const refused = await hook.deliver(body);
  assert.is(refused.status, 503);
  assert.ok(Number(refused.headers.get('retry-after')) >= 5);
  assert.is((await hook.deliver(Buffer.from('{}'), named('small'))).status, 202);
  for (const controller of stalled) controller.error(new Error('gone'));
  assert.equal(
    (await Promise.all(held)).map(({ status }) => status),
    [400, 400, 400, 400, 400],
  );
  assert.is((await hook.deliver(body)).status, 202);
});

test.run();
