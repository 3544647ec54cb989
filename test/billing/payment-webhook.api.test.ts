import Stripe from 'stripe';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createPaymentPlatform, stripeEvent, stripeSignature, subscriptionOf } from '../fixtures/payment-platform.ts';
import { PAYMENT_SECRET } from '../fixtures/provider-substitutes.ts';
import { createSecondTenant } from '../fixtures/users.ts';

const p = await createPaymentPlatform();
const outcomeOf = ({ status, body }: { status: number; body: unknown }) => [
  status,
  (body as { outcome?: string; code?: string }).outcome ?? (body as { code?: string }).code,
];
const eventCount = () => p.log.events.length;

test('an event signed with the Stripe library changes the plan and its status, and appends TenantPlanStatusChanged', async () => {
  const event = stripeEvent('customer.subscription.created', subscriptionOf(p.tenant_id, 'active'), { created: 100 });
  const payload = JSON.stringify(event);
  const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret: PAYMENT_SECRET });
  assert.equal(outcomeOf(await p.sendEvent(event, signature)), [200, 'recorded']);
  const { plan_status, plan } = await p.readTenant();
  assert.equal([plan_status, plan.id], ['active', p.team]);
  const { data, actor } = p.eventsOf('TenantPlanStatusChanged').at(-1)!;
  assert.equal(data, { plan_status: 'active' });
  assert.equal([actor.kind, actor.id], ['system', 'payments']);
});

test('a payment event that arrives a second time, or 20 times at once, gets 200 and appends nothing', async () => {
  const event = stripeEvent('customer.subscription.updated', subscriptionOf(p.tenant_id, 'past_due'), { created: 200 });
  const answers = await Promise.all(Array.from({ length: 20 }, () => p.sendEvent(event)));
  assert.equal(answers.map(outcomeOf).filter(([, outcome]) => outcome === 'recorded').length, 1);
  assert.ok(answers.every(({ status }) => status === 200));
  const count = eventCount();
  assert.equal(outcomeOf(await p.sendEvent(event)), [200, 'duplicate']);
  assert.is(eventCount(), count);
});

test('a payment event that is older than the newest known event of its subscription changes nothing', async () => {
  const count = eventCount();
  assert.equal(outcomeOf(await p.reportSubscription('active', 150)), [200, 'duplicate']);
  assert.is((await p.readTenant()).plan_status, 'past_due');
  assert.is(eventCount(), count);
});

test('if the events of a subscription arrive concurrently and in random order, the plan gets the status in the event that the provider created last', async () => {
  const statuses = ['trialing', 'active', 'past_due', 'active', 'unpaid', 'active', 'canceled', 'active'];
  const reports = statuses.map((status, at) => () => p.reportSubscription(status, 1_000 + at, { id: 'sub_many' }));
  await Promise.all(reports.toSorted(() => Math.random() - 0.5).map((send) => send()));
  assert.is((await p.readTenant()).plan_status, 'active');
});

test('a canceled plan has the limits of the default plan, and an overdue plan keeps its own limits', async () => {
  const small = await p.createPlan('one-agent', 'price_one', 1);
  const { id, key, tenant } = await createSecondTenant(p, 'limited');
  const price = { items: { data: [{ price: { id: 'price_one' } }] }, id: 'sub_limited' };
  const create = (slug: string) => p.send('POST', `${tenant}/agents`, { key, body: { name: slug, slug } });
  await p.reportSubscription('past_due', 10, price, id);
  assert.is(((await p.send('GET', tenant, { key })).body as { plan: { id: string } }).plan.id, small);
  assert.is((await create('first')).status, 201);
  const refused = await create('second');
  assert.equal(outcomeOf(refused), [409, 'plan_limit'], 'past_due keeps the limits of the plan');
  await p.reportSubscription('canceled', 20, price, id);
  assert.is((await create('second')).status, 201, 'the default plan allows more than one agent');
});

test('payment events about other products, about unknown tenants or of other types get 200 and are ignored', async () => {
  const count = eventCount();
  const known = subscriptionOf(p.tenant_id, 'canceled');
  for (const event of [
    stripeEvent('invoice.payment_failed', { id: 'in_1', metadata: { tenant_id: p.tenant_id } }),
    stripeEvent('something.new', {}),
    stripeEvent('customer.subscription.updated', { ...known, metadata: {} }),
    stripeEvent('customer.subscription.updated', { ...known, metadata: { tenant_id: `c${'0'.repeat(24)}` } }),
    stripeEvent('customer.subscription.updated', { ...known, status: 'of the future' }),
    stripeEvent('account.updated', { id: 'acct_1', metadata: {} }, { account: 'acct_1' }),
  ])
    assert.equal(outcomeOf(await p.sendEvent(event)), [200, 'ignored'], JSON.stringify(event));
  assert.is(eventCount(), count);
});

test('a subscription in the Stripe account of a seller is ignored, even if it contains the id of a tenant', async () => {
  const before = await p.readTenant();
  const event = stripeEvent('customer.subscription.updated', subscriptionOf(p.tenant_id, 'canceled', { id: 'sub_many' }), {
    created: 9_000,
    account: 'acct_of_a_seller',
  });
  assert.equal(outcomeOf(await p.sendEvent(event)), [200, 'ignored']);
  assert.equal(await p.readTenant(), before);
});

test('a payment event with a missing, wrong, old, future or foreign signature gets 401, and no event is appended', async () => {
  const count = eventCount();
  const event = stripeEvent('customer.subscription.updated', subscriptionOf(p.tenant_id, 'canceled'), { created: 9_999 });
  const raw = JSON.stringify(event);
  const signatures = [
    '',
    't=1,v1=00',
    stripeSignature(`${raw} `),
    stripeSignature(raw, 'whsec_other'),
    stripeSignature(raw, PAYMENT_SECRET, 301),
    stripeSignature(raw, PAYMENT_SECRET, -302),
    stripeSignature(raw).replace('v1=', 'v0='),
  ];
  for (const signature of signatures) assert.equal(outcomeOf(await p.sendEvent(event, signature)), [401, 'unauthorized'], signature);
  assert.is(eventCount(), count);
});

test('a signed body at the payment webhook gets 400 if it is not JSON, 422 if it is not an event, and 413 if it exceeds 512 KiB', async () => {
  const send = (raw: string) => p.send('POST', '/hooks/payments', { key: '', raw, headers: { 'stripe-signature': stripeSignature(raw) } });
  assert.equal(outcomeOf(await send('{"id":')), [400, 'malformed']);
  assert.equal(outcomeOf(await send('[]')), [422, 'invalid']);
  assert.equal(outcomeOf(await send('{"id":"evt_1"}')), [422, 'invalid']);
  assert.equal(outcomeOf(await send(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`)), [422, 'invalid']);
  const large = JSON.stringify(stripeEvent('invoice.paid', { text: 'x'.repeat(512 * 1024) }));
  assert.equal(outcomeOf(await send(large)), [413, 'too_large']);
});

test("the onboarding link belongs to the caller's seller account, and only events of that account change the seller's status", async () => {
  const first = await p.send('POST', '/connect/onboarding-link');
  assert.is(first.status, 200);
  const [account] = [...p.stripe.accounts.values()];
  assert.match((first.body as { url: string }).url, new RegExp(`^https://connect\\.stripe\\.com/setup/e/${account!.id}/`));
  await p.send('POST', '/connect/onboarding-link');
  assert.is(p.stripe.accounts.size, 1, 'the second link is for the same account');
  assert.is(p.eventsOf('SellerOnboardingStarted').length, 2);
  const status = async () => (await p.send('GET', '/connect/status')).body;
  const unchanged = { connected: false, payment_account_id: account!.id, charges_enabled: false, payouts_enabled: false };
  assert.equal(await status(), unchanged);
  const enabled = { ...account, charges_enabled: true, payouts_enabled: true, details_submitted: true };
  const other = stripeEvent('account.updated', { ...enabled, id: 'acct_other' }, { account: 'acct_other' });
  assert.equal(outcomeOf(await p.sendEvent(other)), [200, 'ignored']);
  assert.equal(await status(), unchanged);
  const event = stripeEvent('account.updated', enabled, { account: account!.id, created: 50 });
  assert.equal(outcomeOf(await p.sendEvent(event)), [200, 'recorded']);
  assert.equal(outcomeOf(await p.sendEvent(event)), [200, 'duplicate']);
  assert.equal(await status(), { connected: true, payment_account_id: account!.id, charges_enabled: true, payouts_enabled: true });
  assert.is(p.eventsOf('SellerStatusChanged').length, 1);
});

test('if an onboarding link is requested ten times at once for the first time, the provider creates a single account', async () => {
  const { key } = await createSecondTenant(p, 'seller');
  const before = p.stripe.accounts.size;
  const answers = await Promise.all(Array.from({ length: 10 }, () => p.send('POST', '/connect/onboarding-link', { key })));
  assert.ok(answers.every(({ status }) => status === 200));
  assert.is(p.stripe.accounts.size, before + 1);
});

test('requests to the seller operations get 403 with a runner key and with an API key that has a limited role', async () => {
  const agent = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: 'agent' } })).body as { id: string };
  const runner = (await p.send('POST', `${p.tenant}/agents/${agent.id}/runner-keys`, { body: { name: 'r' } })).body as { key: string };
  const limited = (await p.send('POST', `${p.tenant}/api-keys`, { body: { name: 'l', role: 'MEMBER' } })).body as { key: string };
  for (const { key } of [runner, limited]) {
    assert.is((await p.send('POST', '/connect/onboarding-link', { key })).status, 403);
    assert.is((await p.send('GET', '/connect/status', { key })).status, 403);
  }
});

test("the tenant's audit log describes in sentences what the payment provider has reported", async () => {
  const { body } = await p.send('GET', `${p.tenant}/audit-logs?action=tenant.plan_status_changed&limit=1`);
  const [entry] = body as { summary: string; actor: { kind: string } }[];
  assert.match(entry!.summary, /changed the plan status of the tenant .* to /);
});

afterLastTest(() => p.close());

test.run();
