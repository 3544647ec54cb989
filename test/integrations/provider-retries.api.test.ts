import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { factsOf } from '../../domain/deliveries/delivery.ts';
import type { RetrySchedule } from '../../domain/integrations/conventions/provider-definition.ts';
import { lastAttemptSeconds } from '../../domain/integrations/retry-schedule.ts';
import { createProviderPayloads, type ProviderPayload, RETRIES } from '../fixtures/provider-payloads.ts';
import { assertAnswer, providerRequests } from '../fixtures/provider-requests.ts';
import { SIGNERS } from '../fixtures/provider-signatures.ts';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

const PROVIDER_PAYLOADS = createProviderPayloads();

const given = await createWebhookPlatform();
const { connectedTo, send, isAccepted } = providerRequests(given);

test('linear: a delivery gets 401 if its webhookTimestamp is missing, in the future, or older than all attempts', async () => {
  const hook = await connectedTo('linear');
  const [payload] = PROVIDER_PAYLOADS.linear as readonly [ProviderPayload];
  const hour = 3_600_000;
  const at = (webhookTimestamp: unknown, id: string) => ({
    ...payload,
    headers: { ...payload.headers, 'linear-delivery': id },
    body: JSON.stringify({ type: 'Issue', webhookTimestamp }),
  });
  for (const [timestamp, status] of [
    [Date.now() - 58_000, 200],
    [Date.now() - 61_000, 200],
    [Date.now() - 62 * 60_000, 200],
    [Date.now() - 7 * hour - 65_000, 200],
    [Date.now() - 9 * hour, 401],
    [Date.now() + 62_000, 401],
    [undefined, 401],
    ['soon', 401],
  ] as const)
    assert.is((await send('linear', hook, at(timestamp, `at-${timestamp}`))).status, status, String(timestamp));
});

test('linear: a late copy of a known body under another delivery id is blocked, and a later attempt is a duplicate', async () => {
  const hook = await connectedTo('linear');
  const [payload] = PROVIDER_PAYLOADS.linear as readonly [ProviderPayload];
  const outcomeOf = async (id: string) =>
    (await send('linear', hook, { ...payload, headers: { ...payload.headers, 'linear-delivery': id } })).json.outcome;
  try {
    assert.equal([await outcomeOf('first'), await outcomeOf('copy')], ['accepted', 'accepted'], 'fresh copies are marked, as chosen');
    for (const minutes of [2, 62, 422]) {
      given.clock.now = () => Date.now() + minutes * 60_000;
      assert.equal([await outcomeOf('first'), await outcomeOf(`late-${minutes}`)], ['duplicate', 'blocked'], `after ${minutes} minutes`);
      assert.is(factsOf(given.ofType('WebhookBlocked').at(-1)!).reason, 'replay');
    }
  } finally {
    given.clock.now = () => Date.now();
  }
});

test('the last attempt of the schedule of each provider is recognised as a duplicate, and alone it is accepted', async () => {
  for (const [provider, schedule] of Object.entries(RETRIES) as [keyof typeof RETRIES, RetrySchedule][]) {
    const hook = await connectedTo(provider);
    const payload = PROVIDER_PAYLOADS[provider].at(-1)!;
    const missed = PROVIDER_PAYLOADS[provider][0]!;
    const { body, headers = {}, id } = missed;
    const signed = SIGNERS[provider].headersOf({
      body,
      url: `https://annals.test/hooks/inbound/${hook}`,
      id: headers['webhook-id'] ?? id,
      seconds: Math.floor(Date.now() / 1000),
    });
    assert.ok(await isAccepted(provider, hook, payload), provider);
    const after = Math.max(lastAttemptSeconds(schedule), schedule.byHandSeconds);
    try {
      given.clock.now = () => Date.now() + after * 1_000;
      const change = schedule.signs === 'new' ? { secondsAgo: -after } : {};
      assertAnswer(await send(provider, hook, payload, change), provider, payload, 'duplicate');
      const late = await send(provider, hook, missed, schedule.signs === 'new' ? change : { headers: signed });
      assertAnswer(late, provider, missed, 'accepted');
    } finally {
      given.clock.now = () => Date.now();
    }
  }
});

test.run();
