import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { decideDueJobs } from '../fixtures/decide-due-jobs.ts';
import { type Item, NOW, only, startOverview } from '../fixtures/overview-platform.ts';
import { addMember } from '../fixtures/users.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const { p, at, call, idOf, newAgent, connect, deliver, settle, read } = await startOverview();

test('the overview of a new tenant has figures of 24 hours, and nothing that needs attention', async () => {
  const { figures, attention, attention_count, is_started, at: checked } = await read();
  const none = { value: 0, previous: 0, buckets: Array(24).fill(0) };
  assert.equal(figures, { accepted: none, failed: none, waiting: { ...none, previous: null, oldest_at: null }, cost_usd: none });
  assert.equal([attention, attention_count, is_started], [[], 0, false]);
  assert.is(checked, new Date(p.clock.now()).toISOString());
});

test('the figures count the deliveries of each hour by their state, and compare with the 24 hours before', async () => {
  const agent = await newAgent('Counter');
  const hook = await connect(agent, 'Counted');
  const times = [30, 30, 30, 5, 5, 0].map((hours) => hours * HOUR_MS + 60_000);
  const ids: string[] = [];
  for (const ago of times) {
    at(ago);
    ids.push(await deliver(hook));
  }
  at(0);
  await settle(agent, ids.slice(0, 2), 'acknowledged');
  await settle(agent, ids.slice(3, 4), 'max_deliveries');
  const { figures, is_started } = await read();
  assert.equal([figures.accepted.value, figures.accepted.previous], [2, 3]);
  assert.equal([figures.accepted.buckets[18], figures.accepted.buckets[23]], [1, 1]);
  assert.equal([figures.failed.value, figures.failed.previous, figures.failed.buckets[23]], [1, 0, 1]);
  const { value, previous, oldest_at, buckets } = figures.waiting;
  assert.equal([value, previous, oldest_at], [3, null, new Date(NOW - times[2]!).toISOString()]);
  assert.equal([buckets[18], buckets[23]], [1, 1]);
  assert.is(is_started, true);
  await settle(agent, ids.slice(2), 'acknowledged');
  await settle(agent, ids.slice(3, 4), 'acknowledged');
  assert.equal((await read()).figures.waiting.value, 0);
});

/** Makes something need attention, and returns what of the item is known. */
type Case = () => Promise<Partial<Omit<Item, 'subject'>> & { readonly subject: { type: string; id?: string; name: string } }>;

const CASES: Readonly<Record<string, Case>> = {
  deliveries_dead: async () => {
    const agent = await newAgent('Refund Assistant');
    const runner = (await call('POST', `agents/${agent}/runner-keys`, { name: 'Runner' })).key as string;
    const hook = await connect(agent, 'Stripe');
    at(1_000);
    const ids = [await deliver(hook)];
    at(0);
    ids.push(await deliver(hook));
    for (const id of ids)
      await call(
        'POST',
        `deliveries/${id}/attempts`,
        { attempt: 1, outcome: 'failed', code: 'HTTP_502', reason: 'The dispute API answered 502', seconds: 1 },
        runner,
      );
    await p.recordPending();
    await settle(agent, ids, 'max_deliveries');
    return {
      count: 2,
      severity: 'error',
      reason: 'The dispute API answered 502',
      code: 'max_deliveries',
      example_id: ids[1]!,
      subject: { type: 'agent', id: agent, name: 'Refund Assistant' },
    };
  },
  deliveries_blocked: async () => {
    const agent = await newAgent('Triage');
    const hook = await connect(agent, 'Storefront');
    await call('PUT', `webhook-integrations/${hook}/guardrails`, [
      { name: 'no-pings', kind: 'pattern', options: { pattern: 'n' }, action: 'block' },
    ] as never);
    for (let n = 0; n < 10; n++) await deliver(hook);
    return { count: 10, severity: 'warning', code: 'pattern', subject: { type: 'integration', id: hook, name: 'Storefront' } };
  },
  runner_missing: async () => {
    const agent = await newAgent('Dependency Updater');
    const hook = await connect(agent, 'Registry');
    at(2 * HOUR_MS);
    await deliver(hook);
    at(0);
    return {
      count: 1,
      severity: 'warning',
      since: new Date(NOW - 2 * HOUR_MS).toISOString(),
      subject: { type: 'agent', id: agent, name: 'Dependency Updater' },
    };
  },
  runner_failing: async () => {
    const agent = await newAgent('Flaky');
    const hook = await connect(agent, 'Pushes');
    const ids = [await deliver(hook), await deliver(hook), await deliver(hook)];
    await settle(agent, ids, 'failed');
    return { count: 3, severity: 'warning', subject: { type: 'agent', id: agent, name: 'Flaky' } };
  },
  budget_spent: async () => {
    const agent = await newAgent('Spender');
    const runner = (await call('POST', `agents/${agent}/runner-keys`, { name: 'Runner' })).key as string;
    await call('PUT', `agents/${agent}/budget`, { hourly_limit_usd: 0.5 });
    await call('POST', `agents/${agent}/budget/reserve`, { amount_usd: 0.5, ttl_seconds: 3_600 }, runner);
    return {
      reason: '$0.50 of $0.50 this hour',
      until: '2126-03-20T11:00:00.000Z',
      subject: { type: 'agent', id: agent, name: 'Spender' },
    };
  },
  budget_near: async () => {
    const agent = await newAgent('Saver');
    const runner = (await call('POST', `agents/${agent}/runner-keys`, { name: 'Runner' })).key as string;
    await call('PUT', `agents/${agent}/budget`, { hourly_limit_usd: 1 });
    await call('POST', `agents/${agent}/budget/reserve`, { amount_usd: 0.8, ttl_seconds: 3_600 }, runner);
    return { severity: 'info', reason: '$0.80 of $1.00 this hour', subject: { type: 'agent', id: agent, name: 'Saver' } };
  },
  cron_missed: async () => {
    at(8 * HOUR_MS);
    const agent = await newAgent('Reporter');
    const body = { name: 'Hourly report', kind: 'recurring', target_kind: 'internal_agent', target: agent, cron_expr: '0 * * * *' };
    const id = await idOf(`agents/${agent}/cron-jobs`, body);
    at(0);
    await decideDueJobs(p);
    return { severity: 'warning', subject: { type: 'cron_job', id, name: 'Hourly report' } };
  },
  secret_overlap: async () => {
    const hook = await connect(await newAgent('Rotated'), 'Old secret');
    const { previous_secret_valid_until: until } = await call('POST', `webhook-integrations/${hook}/rotate-secret`, {});
    return { count: 1, severity: 'info', until: until as string, subject: { type: 'integration', id: hook, name: 'Old secret' } };
  },
  api_key_expiring: async () => {
    const expires_at = new Date(NOW + 3 * DAY_MS).toISOString();
    const id = await idOf('api-keys', { name: 'CI', expires_at });
    await idOf('api-keys', { name: 'Later', expires_at: new Date(NOW + 9 * DAY_MS).toISOString() });
    return { severity: 'info', until: expires_at, subject: { type: 'api_key', id, name: 'CI' } };
  },
  integration_silent: async () => {
    const hook = await connect(await newAgent('Listener'), 'Monitoring');
    for (let n = 0; n < 20; n++) {
      at(2 * DAY_MS + (20 - n) * HOUR_MS);
      await deliver(hook);
    }
    const since = new Date(p.clock.now()).toISOString();
    at(0);
    return { severity: 'warning', since, subject: { type: 'integration', id: hook, name: 'Monitoring' } };
  },
  deliveries_held: async () => {
    const agent = await newAgent('Busy');
    const hook = await connect(agent, 'Burst');
    const rule = { name: 'slow', kind: 'rate', options: { max: 1, per_seconds: 3_600 }, action: 'hold' };
    await call('PUT', `webhook-integrations/${hook}/guardrails`, [rule] as never);
    for (let n = 0; n < 3; n++) await deliver(hook);
    return {
      count: 2,
      severity: 'info',
      until: new Date(NOW + HOUR_MS).toISOString(),
      subject: { type: 'agent', id: agent, name: 'Busy' },
    };
  },
  approval_open: async () => {
    const agent = await newAgent('Merger');
    const runner = (await call('POST', `agents/${agent}/runner-keys`, { name: 'Runner' })).key as string;
    const { id } = await call('POST', `agents/${agent}/sessions`, {}, runner);
    const asked = {
      role: 'assistant',
      content: 'May I?',
      kind: 'approval',
      approval: { action: 'Merge pull request 42', detail: 'All checks passed.' },
    };
    const message = await call('POST', `sessions/${id}/messages`, asked, runner);
    return {
      reason: 'Merge pull request 42',
      example_id: message.id as string,
      subject: { type: 'session', id: id as string, name: 'Merger' },
    };
  },
};

for (const [kind, make] of Object.entries(CASES))
  test(`the overview names what needs attention, with its cause: ${kind}`, async () => {
    at(0);
    const { subject, ...expected } = await make();
    const found = only(await read(), kind).find((one) => one.subject.name === subject.name);
    assert.ok(found, `${kind} is missing in ${JSON.stringify((await read()).attention, null, 1)}`);
    assert.equal(
      { ...expected, subject },
      {
        ...Object.fromEntries(Object.keys(expected).map((name) => [name, found[name as keyof Item]])),
        subject: found.subject,
      },
    );
  });

test('what needs attention is sorted by severity, and members see only what is about their agents', async () => {
  const { attention, attention_count } = await read();
  const order = ['error', 'warning', 'info'];
  const ranks = attention.map(({ severity }) => order.indexOf(severity!));
  assert.equal(ranks, ranks.toSorted());
  assert.ok(attention_count >= Object.keys(CASES).length && attention.length <= 20);
  const stranger = await read((await addMember(p, 'MEMBER')).key);
  assert.equal([stranger.attention, stranger.figures.accepted.value, stranger.figures.cost_usd], [[], 0, null]);
  const viewer = await addMember(p, 'MEMBER', p.tenant_id, 'viewer@example.com');
  const agent = attention.find(({ kind }) => kind === 'deliveries_dead')!.subject.id;
  await call('PUT', `agents/${agent}/roles/${viewer.user_id}`, { role: 'VIEWER' });
  const seen = await read(viewer.key);
  assert.equal(
    seen.attention.map(({ kind, subject }) => [kind, subject.id]),
    [['deliveries_dead', agent]],
  );
  assert.equal([seen.figures.failed.value, seen.figures.accepted.value], [2, 0]);
  const auditor = await read((await addMember(p, 'AUDITOR', p.tenant_id, 'auditor@example.com')).key);
  assert.ok(auditor.attention.every(({ kind }) => kind !== 'api_key_expiring'));
});

afterLastTest(() => p.close());

test.run();
