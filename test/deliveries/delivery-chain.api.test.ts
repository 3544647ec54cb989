import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { redriveLost } from '../../commands/deliveries/redeliver.ts';
import { tokenOf } from '../../domain/event.ts';
import { omit } from '../../domain/omit.ts';
import { reactorContext } from '../../infra/aggregates/reactor-context.ts';
import { advanceReplays } from '../../infra/deliveries/replay-deliveries.ts';
import { runningJobs } from '../../projections/deliveries/replay-job.queries.ts';
import { waitUntil } from '../fixtures/nats-server.ts';
import { createSessionPlatform, type Json } from '../fixtures/session-platform.ts';
import { SECRET, sign } from '../fixtures/webhook-platform.ts';
import { replayerOf } from '../fixtures/without-releases.ts';

const p = await createSessionPlatform();
const { agent } = p;
const made = async (path: string, body: Json): Promise<Json> => (await p.send('POST', `${p.tenant}/${path}`, { body })).body as Json;
const hook = (await made('webhook-integrations', { provider: 'github', agent_id: agent.id, label: 'Code', secret: SECRET })).id as string;

let count = 0;
const deliver = async (text: string): Promise<string> => {
  const raw = JSON.stringify({ text });
  const headers = { 'x-github-delivery': `d-${count++}`, 'x-github-event': 'push', 'x-hub-signature-256': sign(raw) };
  return String(((await p.send('POST', `/hooks/inbound/${hook}`, { raw, headers })).body as Json).id);
};
const show = async (id: string, query = ''): Promise<Json> => {
  const { status, body, text } = await p.send('GET', `${p.tenant}/deliveries/${id}${query}`);
  assert.is(status, 200, text);
  return body as Json;
};
const stepsOf = ({ causation }: Json): Json[] => causation as Json[];
const user = p.eventsOf('IntegrationConnected')[0]!.actor;

const redriving = () => reactorContext(p.log, { actor: { kind: 'system', id: 'redrive' } });

test('the details of a delivery show each step from the provider to a session, with the actor and the cause of the step', async () => {
  const id = await deliver('first');
  await made(`deliveries/${id}/redeliver`, {});

  const job = await made(`webhook-integrations/${hook}/replay`, { from: '2020-01-01T00:00:00Z', to: '2120-01-01T00:00:00Z', ids: [id] });
  const now = () => new Date().toISOString();
  while (await advanceReplays(replayerOf(p.log), await runningJobs(p.reads, now()), now())) await p.waitForProjections();
  await p.waitForProjections();
  const requested = p.eventsOf('DeliveriesReplayRequested').find((event) => event.id === job.id)!;

  const replayed = p.eventsOf('DeliveryRequeued').at(-1)!;
  const lost = { tenant: p.tenant_id, agent_id: agent.id, delivery_id: id, message_id: replayed.event_id };
  await redriveLost(redriving(), lost, false);
  await p.waitForProjections();
  const session = (await p.startSession({ delivery_id: id })).split('/').at(-1)!;

  const shown = await show(id);
  assert.equal([shown.cause, shown.session_id], [null, session]);
  const common = { agent_id: agent.id, session_id: null, cause: null };
  assert.equal(
    stepsOf(shown).map((step) => omit(step, 'event_id', 'at', 'position', 'published_at')),
    [
      { ...common, type: 'WebhookAccepted', actor: { kind: 'system', id: hook, name: null } },
      { ...common, type: 'DeliveryRequeued', actor: { kind: 'user', id: user.id, name: 'Administrator' } },
      { ...common, type: 'DeliveryRequeued', actor: { kind: 'user', id: user.id, name: 'Administrator' }, cause: requested.event_id },
      { ...common, type: 'DeliveryRequeued', actor: { kind: 'system', id: 'redrive', name: null }, cause: replayed.event_id },
      { ...common, type: 'SessionStarted', actor: { kind: 'agent', id: agent.id, name: null }, session_id: session },
    ],
  );
  for (const { event_id, position } of stepsOf(shown))
    assert.is(position, tokenOf(p.log.events.find((event) => event.event_id === event_id)!.position));
  const { position } = p.eventsOf('SessionStarted').at(-1)!;
  const then = await show(id, `?as_of=${position.commit}:${position.prepare}`);
  assert.equal([then.causation, then.cause], [shown.causation, shown.cause], 'as of a position, the steps are the same');
});

test('the details of a delivery name the delivery that caused it; the details of a sample delivery name its integration and its sender', async () => {
  const first = await deliver('one');
  const second = await deliver(`Done.\n\nAnnals-Delivery: ${first}`);
  const third = await deliver(`Done.\n\nAnnals-Delivery: ${second}`);
  assert.equal(
    (await Promise.all([first, second, third].map((id) => show(id)))).map(({ cause }) => cause),
    [null, { delivery_id: first, depth: 1 }, { delivery_id: second, depth: 2 }],
  );
  const sample = await show((await made(`webhook-integrations/${hook}/test-delivery`, {})).id as string);
  assert.equal([sample.cause, sample.caller], [null, { ip: null, user_agent: 'annals-test-delivery' }]);
  assert.equal(
    stepsOf(sample).map(({ type, actor }) => [type, actor]),
    [['WebhookAccepted', { kind: 'system', id: hook, name: null }]],
  );
});

test('the details of a rejected delivery contain a single step, which is its rejection', async () => {
  const headers = { 'x-github-delivery': 'forged', 'x-github-event': 'push', 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` };
  assert.is((await p.send('POST', `/hooks/inbound/${hook}`, { raw: '{}', headers, key: '' })).status, 401);
  const rejected = async () => (await p.send('GET', `${p.tenant}/deliveries?outcome=rejected`)).body as Json[];
  // Wait: rejections are recorded in batches, some time after the response.
  await waitUntil(async () => (await rejected()).length === 1);
  const [{ id } = {}] = await rejected();
  const shown = await show(id as string);
  assert.equal([shown.cause, stepsOf(shown).map(({ type, agent_id }) => [type, agent_id])], [null, [['WebhookRejected', agent.id]]]);
});

test('a lost message is not sent again once its agent is inactive, even if others were sent again before', async () => {
  const ctx = redriving();
  const lost = async () => {
    const delivery_id = await deliver('lost');
    const { event_id } = p.eventsOf('WebhookAccepted').find(({ id }) => id === delivery_id)!;
    return { tenant: p.tenant_id, agent_id: agent.id, delivery_id, message_id: event_id };
  };
  const [first, second] = [await lost(), await lost()];
  assert.ok('message_id' in (await redriveLost(ctx, first, false)));
  assert.equal(await redriveLost(ctx, first, false), { skipped: 'it was sent again already' });
  await p.send('PATCH', `${p.tenant}/agents/${agent.id}`, { body: { is_active: false } });
  assert.equal(await redriveLost(ctx, second, false), { skipped: 'its agent is inactive or deleted' });
});

test.run();
