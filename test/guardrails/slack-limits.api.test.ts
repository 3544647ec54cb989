import * as assert from 'uvu/assert';
import type { AggregateReader } from '../../commands/context.ts';
import { createGuardrailSources } from '../../commands/deliveries/guardrail-sources.ts';
import * as Agent from '../../domain/agents/agent.ts';
import { factsOf } from '../../domain/deliveries/delivery.ts';
import * as SlackConfig from '../../domain/slack/slack-config.ts';
import { SIGNERS } from '../fixtures/provider-signatures.ts';
import { test } from '../fixtures/test-with-cleanup.ts';
import { createWebhookPlatform } from '../fixtures/webhook-platform.ts';

/** Starts a platform with an agent that gets deliveries from Slack at times that the test sets. */
const createSlackPlatform = async () => {
  const given = await createWebhookPlatform();
  const { secret, headersOf } = SIGNERS.slack;
  const hook = (await given.connect({ provider: 'slack', secret })).json.id as string;
  let sent = 0;
  /**
   * Sends an event from Slack at this time. @returns the outcome and the reason of the delivery, and the verdicts of
   * the Slack limits
   */
  const deliver = async (at: string, id = `Ev${++sent}`) => {
    given.clock.now = () => Date.parse(at);
    const body = JSON.stringify({ type: 'event_callback', event_id: id, event: { type: 'message', text: 'hi' } });
    const url = `https://annals.test/hooks/inbound/${hook}`;
    const answer = await given.request(`/hooks/inbound/${hook}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headersOf({ body, url, id, seconds: Math.floor(Date.parse(at) / 1_000) }) },
      body,
    });
    if (answer.status === 200) return [answer.json.outcome as string];
    assert.is(answer.status, 202, answer.text);
    const event = given.ofType('WebhookAccepted', 'WebhookBlocked').find((one) => one.id === answer.json.id)!;
    const { reason, guardrails } = factsOf(event);
    return [answer.json.outcome as string, reason, ...guardrails.slice(2).map(({ rule, verdict }) => `${rule} ${verdict}`)];
  };
  const settings = async (fields: object): Promise<void> => {
    const answer = await given.call('PUT', `agents/${given.agent}/slack-config`, fields);
    assert.is(answer.status, 200, answer.text);
  };
  return { given, deliver, settings };
};

const ACCEPTED = ['accepted', null];

test("once as many Slack deliveries as the agent's limit per minute were counted, further ones are blocked until the first of them is a minute old", async () => {
  const { given, deliver, settings } = await createSlackPlatform();
  await settings({ slack_rpm_limit: 2 });
  assert.equal(await deliver('2026-03-02T10:00:00.000Z'), [...ACCEPTED, 'slack_rpm_limit pass']);
  assert.equal(await deliver('2026-03-02T10:00:30.000Z'), [...ACCEPTED, 'slack_rpm_limit pass']);
  assert.equal(await deliver('2026-03-02T10:00:59.999Z'), ['blocked', 'slack_rpm_limit', 'slack_rpm_limit block']);
  assert.equal(await deliver('2026-03-02T10:01:00.000Z'), [...ACCEPTED, 'slack_rpm_limit pass']);
  await settings({ slack_rpm_limit: null });
  assert.equal(await deliver('2026-03-02T10:01:00.001Z'), ACCEPTED);
  await given.close();
});

test('a limit per hour applies in addition to the limit per minute; a delivery that Slack sends several times counts once', async () => {
  const { given, deliver, settings } = await createSlackPlatform();
  await settings({ slack_rpm_limit: 2, slack_rph_limit: 3 });
  assert.equal((await deliver('2026-03-02T10:00:00.000Z', 'Ev-a')).slice(0, 2), ACCEPTED);
  assert.equal(await deliver('2026-03-02T10:00:01.000Z', 'Ev-a'), ['duplicate']);
  assert.equal((await deliver('2026-03-02T10:00:02.000Z')).slice(0, 2), ACCEPTED);
  assert.equal((await deliver('2026-03-02T10:02:00.000Z')).slice(0, 2), ACCEPTED);
  assert.equal(await deliver('2026-03-02T10:59:59.999Z'), ['blocked', 'slack_rph_limit', 'slack_rpm_limit pass', 'slack_rph_limit block']);
  assert.equal((await deliver('2026-03-02T11:00:00.000Z')).slice(0, 2), ACCEPTED);
  await given.close();
});

test('outside the working hours of its agent, a delivery from Slack is acknowledged and blocked, and does not count against a limit', async () => {
  const { given, deliver, settings } = await createSlackPlatform();
  await settings({
    working_hours_enabled: true,
    working_hours_start: '09:00',
    working_hours_end: '17:00',
    working_hours_tz: 'Europe/Berlin',
    slack_rph_limit: 1,
  });
  assert.equal(await deliver('2026-03-27T07:59:59.999Z'), ['blocked', 'outside_working_hours', 'working_hours block']);
  assert.equal(await deliver('2026-03-27T08:00:00.000Z'), [...ACCEPTED, 'slack_rph_limit pass']);
  // Two days after the deliveries above, summer time begins in Berlin. In UTC, the working hours then begin and end one
  // hour earlier.
  assert.equal(await deliver('2026-03-30T07:00:00.000Z'), [...ACCEPTED, 'slack_rph_limit pass']);
  assert.equal(await deliver('2026-03-30T15:00:00.000Z'), ['blocked', 'outside_working_hours', 'working_hours block']);
  await given.close();
});

test('the Slack limits and working hours of an agent do not apply to deliveries of other providers', async () => {
  const { given, settings } = await createSlackPlatform();
  await settings({ slack_rpm_limit: 1, working_hours_enabled: true, working_hours_days: [] });
  given.clock.now = () => Date.parse('2026-03-01T03:00:00.000Z');
  for (const id of ['a', 'b']) assert.is((await given.deliver('{}', { 'x-github-delivery': id })).json.outcome, 'accepted');
  await given.close();
});

test('a copied agent has the Slack limits of its source until its own Slack settings are set', async () => {
  const inherited = { ...SlackConfig.initial, slack_rpm_limit: 1 };
  const own = { ...SlackConfig.initial, slack_rpm_limit: 5 };
  const settingsWith = (config: SlackConfig.SlackConfig) => {
    const states = new Map<unknown, unknown>([
      [SlackConfig, config],
      [Agent, { ...Agent.initial, inherited_slack_config: inherited }],
    ]);
    const peek = (aggregate: unknown) => ({ state: states.get(aggregate) });
    return createGuardrailSources({ peek } as unknown as AggregateReader).slackConfig('t', 'a');
  };
  assert.equal([await settingsWith(SlackConfig.initial), await settingsWith(own)], [inherited, own]);
});

test.run();
