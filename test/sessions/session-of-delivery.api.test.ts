import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createSessionPlatform, errorCode, type Json } from '../fixtures/session-platform.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';

const p = await createSessionPlatform();
const { agent } = p;
const hook = (
  (
    await p.send('POST', `${p.tenant}/webhook-integrations`, {
      body: { provider: 'github', agent_id: agent.id, label: 'Code', secret: SECRET },
    })
  ).body as Json
).id;
let count = 0;
const deliver = async (): Promise<string> => {
  const raw = '{"zen":"Keep it simple"}';
  const headers = { 'x-github-delivery': `d-${count++}`, 'x-github-event': 'push', 'x-hub-signature-256': sign(raw) };
  return String(((await p.send('POST', `/hooks/inbound/${hook}`, { raw, headers })).body as Json).id);
};
const readDelivery = async (id: string, query = ''): Promise<Json> =>
  (await p.send('GET', `${p.tenant}/deliveries/${id}${query}`)).body as Json;
const typesOf = ({ causation }: Json): unknown[] => (causation as Json[]).map(({ type }) => type);
const idOf = (session: string): string => session.split('/').at(-1)!;

test('a delivery shows the last session that processed it, and its causation shows the start of each session that processed it', async () => {
  const delivery = await deliver();
  assert.is((await readDelivery(delivery)).session_id, null);
  const first = await p.startSession({ delivery_id: delivery });
  const shown = await readDelivery(delivery);
  assert.equal([shown.session_id, typesOf(shown)], [idOf(first), ['WebhookAccepted', 'SessionStarted']]);
  assert.is(((await p.read(first)).session as Json).delivery_id, delivery);
  const second = await p.startSession({ delivery_id: delivery });
  const later = await readDelivery(delivery);
  assert.equal([later.session_id, typesOf(later)], [idOf(second), ['WebhookAccepted', 'SessionStarted', 'SessionStarted']]);
  assert.is(((later.causation as Json[])[1] as Json).event_id, ((shown.causation as Json[])[1] as Json).event_id);
});

test('an as-of read of a delivery shows the session that had processed it at that time', async () => {
  const delivery = await deliver();
  const started = [];
  for (const _ of [1, 2]) {
    const answer = await p.send('POST', `${agent.path}/sessions`, { key: agent.runner, body: { delivery_id: delivery } });
    started.push({ id: (answer.body as Json).id, token: answer.headers.get('consistency-token')! });
  }
  const asOf = (token: string) => readDelivery(delivery, `?as_of=${encodeURIComponent(token)}`);
  for (const [index, { id, token }] of started.entries()) {
    const then = await asOf(token);
    assert.equal([then.session_id, typesOf(then).length], [id, index + 2]);
  }
  const [accepted] = p.eventsOf('WebhookAccepted').filter(({ id }) => id === delivery);
  const before = await asOf(`${accepted!.position.commit}:${accepted!.position.prepare}`);
  assert.equal([before.session_id, typesOf(before)], [null, ['WebhookAccepted']]);
});

test('starting a session for a delivery to another agent is refused, unless the delivery was sent again to the agent that starts the session', async () => {
  const delivery = await deliver();
  const other = await p.createAgent();
  const start = () => p.send('POST', `${other.path}/sessions`, { key: other.runner, body: { delivery_id: delivery } });
  const refused = await start();
  assert.equal([refused.status, errorCode(refused)], [422, 'unknown_delivery']);
  await p.send('POST', `${p.tenant}/deliveries/${delivery}/redeliver`, { body: { agent_id: other.id } });
  assert.is((await start()).status, 201);
  assert.ok(await p.startSession({ delivery_id: delivery }), 'the first agent may still name it');
  assert.equal(p.unappliedEvents(), []);
});

afterLastTest(() => p.close());

test.run();
