import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { omit } from '../../domain/omit.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, findDelivery, startConsole } from '../fixtures/console-platform.ts';
import { createSecondTenant } from '../fixtures/users.ts';

type Link = { id: string; type: string; stream: string; position: string };
type Detail = {
  id: string;
  stream: string;
  revision: number;
  position: string;
  type: string;
  at: string;
  previous_id: string | null;
  next_id: string | null;
  causes: Link[];
  effects: Link[];
  resources: { type: string; id: string }[];
};

const p = await startConsole();
const { tenant } = p;
const agent = await createAgent(p, 'Reviewer');
for (const description of ['a', 'b']) await p.send('PATCH', `${tenant}/agents/${agent}`, { body: { description } });
const integration = await createIntegration(p, agent);
await deliver(p, integration, 'push', { zen: 'Keep it logically awesome.' });
const delivery = await findDelivery(p, 'accepted');

const get = async <T>(path: string): Promise<T> => {
  await p.waitForProjections();
  const answer = await p.send('GET', `${tenant}/events${path}`);
  assert.is(answer.status, 200, answer.text);
  return answer.body as T;
};

test('the details of an event contain the ids of the events before and after it in its stream', async () => {
  const stream = p.log.events.filter(({ category, id }) => category === 'agent' && id === agent).map(({ event_id }) => event_id);
  assert.is(stream.length, 3);
  for (const [index, id] of stream.entries()) {
    const detail = await get<Detail>(`/${id}`);
    assert.equal([detail.id, detail.previous_id, detail.next_id], [id, stream[index - 1] ?? null, stream[index + 1] ?? null]);
    assert.equal(detail.resources[0], { type: 'agent', id: agent });
  }
});

test('reading a single event returns the same fields as the list of events', async () => {
  for (const event of await get<Detail[]>('?limit=200')) {
    const fields = omit(await get<Detail>(`/${event.id}`), 'previous_id', 'next_id', 'causes', 'effects', 'resources');
    assert.equal(fields, event);
  }
});

test('the event of a delivery lists the start of the session that it caused as an effect, and the event of that start lists the delivery as its cause', async () => {
  const session = await p.send('POST', `${tenant}/agents/${agent}/sessions`, { body: { title: 'Review', delivery_id: delivery } });
  assert.is(session.status, 201, session.text);
  const accepted = p.eventsOf('WebhookAccepted')[0]!.event_id;
  const started = p.eventsOf('SessionStarted')[0]!.event_id;
  assert.equal(
    (await get<Detail>(`/${started}`)).causes.map(({ id }) => id),
    [accepted],
  );
  assert.equal(
    (await get<Detail>(`/${accepted}`)).effects.map(({ id, type }) => [id, type]),
    [[started, 'SessionStarted']],
  );
});

test('if an event contains the id of the event that caused it, the details of the causing event list it among the effects', async () => {
  const cause = p.eventsOf('AgentCreated').find(({ id }) => id === agent)!;
  const id = crypto.randomUUID();
  const meta = { tenant: p.tenant_id, actor: { kind: 'system', id: 'test' } as const, at: new Date().toISOString(), v: 1 };
  const event = { id, type: 'AgentUpdated', data: { description: 'caused' }, meta: { ...meta, $causationId: cause.event_id } };
  await p.log.append(cause.stream, p.log.events.findLast(({ stream }) => stream === cause.stream)!.revision, [event]);
  assert.equal(
    (await get<Detail>(`/${cause.event_id}`)).effects.map((effect) => effect.id),
    [id],
  );
  assert.equal(
    (await get<Detail>(`/${id}`)).causes.map((found) => found.id),
    [cause.event_id],
  );
});

test('reading the details of an event gets 404 if the event belongs to another tenant, is excluded from the audit log or does not exist', async () => {
  const other = await createSecondTenant(p);
  await p.send('POST', `${other.tenant}/agents`, { key: other.key, body: { name: 'A', slug: 'a' } });
  await p.waitForProjections();
  const foreign = p.log.events.find(({ meta }) => meta.tenant === other.id)!.event_id;
  const hidden = p.log.events.find(({ category }) => category === 'key')?.event_id ?? crypto.randomUUID();
  for (const id of [foreign, hidden, crypto.randomUUID(), 'nonsense'])
    assert.is((await p.send('GET', `${tenant}/events/${id}`)).status, 404, id);
});

test('events can be listed newest first; the pages then have exactly the reverse order of the list that starts with the oldest event', async () => {
  const oldest = await get<Detail[]>('?limit=200');
  const found: Detail[] = [];
  for (let path: string | undefined = `${tenant}/events?order=newest&limit=3`; path; ) {
    const answer = await p.send('GET', path);
    found.push(...(answer.body as Detail[]));
    path = /^<([^>]*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  assert.equal(found, oldest.toReversed());
  const stream = `agent-${p.tenant_id}.${agent}`;
  const ofStream = oldest.filter((event) => event.stream === stream);
  assert.equal(await get(`?stream=${stream}&order=newest`), ofStream.toReversed());
  const first = await p.send('GET', `${tenant}/events?stream=${stream}&order=newest&limit=2`);
  const next = /^<([^>]*)>/.exec(first.headers.get('link')!)![1]!;
  assert.equal([...(first.body as Detail[]), ...((await p.send('GET', next)).body as Detail[])], ofStream.toReversed());
});

test('a list of events from a given time starts with the first event after that time; if the order is newest first, it starts with the last event before that time', async () => {
  const all = await get<Detail[]>('?limit=200');
  const { at } = all[4]!;
  assert.equal(await get(`?at=${at}&limit=200`), all.slice(all.findIndex((event) => event.at >= at)));
  assert.equal(await get(`?at=${at}&order=newest&limit=200`), all.slice(0, all.findLastIndex((event) => event.at <= at) + 1).toReversed());
  assert.equal(await get('?at=2100-01-01T00:00:00Z'), []);
  assert.equal(await get('?at=2000-01-01T00:00:00Z&order=newest'), []);
});

test('events can be filtered by the category of their streams and by the request that caused them', async () => {
  const all = await get<Detail[]>('?limit=200');
  const ofAgents = all.filter(({ stream }) => stream.startsWith('agent-'));
  assert.ok(ofAgents.length > 0 && ofAgents.length < all.length);
  for (const stream of ['agent-*', 'agent*']) assert.equal(await get(`?stream=${stream}&limit=200`), ofAgents);
  assert.equal(await get('?stream=key-*'), []);
  const headers = { 'x-request-id': 'the-request-of-this-test' };
  await p.send('PATCH', `${tenant}/agents/${agent}`, { body: { description: 'by request' }, headers });
  const caused = await get<Detail[]>('?correlation_id=the-request-of-this-test');
  assert.equal(
    caused.map(({ type }) => type),
    ['AgentUpdated'],
  );
  assert.equal(await get('?correlation=the-request-of-this-test'), caused);
});

test('a request for the list of events is refused if its filters contradict each other or are malformed', async () => {
  for (const query of ['correlation=a&correlation_id=b', 'order=up', 'at=yesterday', 'correlation_id=', 'at='])
    assert.is((await p.send('GET', `${tenant}/events?${query}`)).status, 422, query);
});

afterLastTest(() => p.close());

test.run();
