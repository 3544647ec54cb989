import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createPaymentPlatform, SECRET_KEY } from '../fixtures/payment-platform.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember, createSecondTenant } from '../fixtures/users.ts';

const p = await createPaymentPlatform();
const billing = `${p.tenant}/billing`;
const start = (body: object = { price_id: 'price_team' }, headers = {}) => p.send('POST', `${billing}/checkout-session`, { body, headers });
type Problem = { code: string; detail: string; errors?: { pointer: string; code: string }[] };
const problemOf = ({ status, body }: { status: number; body: unknown }) => [status, (body as Problem).code];

test('starting a checkout gets 201 with the URL and the id of the checkout session, and appends the event CheckoutStarted', async () => {
  const { status, body } = await start();
  const [session] = p.stripe.sessions.slice(-1);
  assert.is(status, 201);
  assert.equal(body, { url: session!.url, session_id: session!.id });
  const { data, stream } = p.eventsOf('CheckoutStarted').at(-1)!;
  assert.equal(data, { session_id: session!.id, price_id: 'price_team', plan_id: p.team });
  assert.is(stream, `billing-${p.tenant_id}.${p.tenant_id}`);
});

test('events of a subscription are assigned to the tenant whose id the checkout gave to the provider as metadata', async () => {
  await start();
  const session = p.stripe.sessions.at(-1)!;
  assert.equal(session.subscription_data, { metadata: { tenant_id: p.tenant_id } });
  assert.is(session.client_reference_id, p.tenant_id);
  assert.equal(session.line_items, [{ price: 'price_team', quantity: 1 }]);
});

test('if the tenant has a billing e-mail address, its checkout passes the address to the provider', async () => {
  await p.send('PATCH', p.tenant, { body: { billing_email: 'billing@example.com' } });
  await start();
  assert.is(p.stripe.sessions.at(-1)!.customer_email, 'billing@example.com');
});

test('repeating a request with its Idempotency-Key returns the same checkout session, and starts no second one', async () => {
  const headers = { 'idempotency-key': 'checkout-1' };
  const first = await start(undefined, headers);
  const count = p.stripe.sessions.length;
  const events = p.eventsOf('CheckoutStarted').length;
  const second = await start(undefined, headers);
  assert.is(second.status, 201);
  assert.equal(second.body, first.body);
  assert.is(p.stripe.sessions.length, count);
  assert.is(p.eventsOf('CheckoutStarted').length, events);
});

test('starting a checkout with a price that belongs to no plan gets 422, and no request is sent to the provider', async () => {
  const count = p.stripe.requests.length;
  const answer = await start({ price_id: 'price_other' });
  assert.equal(problemOf(answer), [422, 'invalid']);
  assert.equal((answer.body as Problem).errors?.[0], {
    pointer: '/price_id',
    code: 'unknown_price',
    message: 'is not the price of a plan',
  });
  assert.is(p.stripe.requests.length, count);
});

test('starting a checkout gets 422 if the provider does not know the price of the plan', async () => {
  await p.createPlan('gone', 'price_gone');
  const answer = await start({ price_id: 'price_gone' });
  assert.equal(problemOf(answer), [422, 'invalid']);
  assert.is((answer.body as Problem).errors?.[0]?.pointer, '/price_id');
});

test('starting a checkout gets 422 if its price id is missing, empty or has 129 characters, or if a field is unknown', async () => {
  for (const body of [{ price_id: '' }, { price_id: 'x'.repeat(129) }, { price_id: 'price_team', quantity: 2 }, {}])
    assert.equal(problemOf(await start(body)), [422, 'invalid'], JSON.stringify(body));
});

test('opening the billing portal gets 409 if the tenant has never subscribed', async () => {
  const { key, tenant } = await createSecondTenant(p, 'never');
  assert.equal(problemOf(await p.send('POST', `${tenant}/billing/portal`, { key })), [409, 'conflict']);
});

test('only an OWNER can start a checkout or open the billing portal; an ADMIN gets 403', async () => {
  const { key } = await addMember(p, 'ADMIN');
  assert.is((await p.send('POST', `${billing}/checkout-session`, { key, body: { price_id: 'price_team' } })).status, 403);
  assert.is((await p.send('POST', `${billing}/portal`, { key })).status, 403);
});

test('if the payment provider answers 500 or breaks the connection, the response is 503 with Retry-After, and no event is appended', async () => {
  const events = p.eventsOf('CheckoutStarted').length;
  for (const handle of [
    (response: import('node:http').ServerResponse) => void response.writeHead(500).end('{"error":{"type":"api_error"}}'),
    (response: import('node:http').ServerResponse) => void response.destroy(),
  ]) {
    p.stripe.intercept((response) => {
      handle(response);
      return true;
    });
    const answer = await start();
    assert.equal(problemOf(answer), [503, 'unavailable']);
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
  }
  p.stripe.intercept();
  assert.is(p.eventsOf('CheckoutStarted').length, events);
});

test('if the payment provider refuses the secret key, starting a checkout gets 409 not_configured; the response names the variable, but does not contain the key', async () => {
  const other = await createPaymentPlatform('sk_test_wrong');
  const answer = await other.send('POST', `${other.tenant}/billing/checkout-session`, { body: { price_id: 'price_team' } });
  await other.close();
  assert.equal(problemOf(answer), [409, 'not_configured']);
  assert.match((answer.body as Problem).detail, 'STRIPE_SECRET_KEY');
  assert.not.match(answer.text, /sk_test/);
});

test('without STRIPE_SECRET_KEY, every operation that needs the payment provider gets 409 not_configured, and the response names this variable', async () => {
  const without = await createTestPlatform({ payments: null, paymentSecrets: [] });
  const answers = [
    await without.send('POST', `${without.tenant}/billing/checkout-session`, { body: { price_id: 'price_team' } }),
    await without.send('POST', `${without.tenant}/billing/portal`),
    await without.send('POST', '/connect/onboarding-link'),
  ];
  for (const answer of answers) {
    assert.equal(problemOf(answer), [409, 'not_configured']);
    assert.match((answer.body as Problem).detail, 'STRIPE_SECRET_KEY');
  }
  const hook = await without.send('POST', '/hooks/payments', { key: '', body: {}, headers: { 'stripe-signature': 't=1,v1=00' } });
  assert.equal(problemOf(hook), [409, 'not_configured']);
  assert.match((hook.body as Problem).detail, 'STRIPE_WEBHOOK_SECRET');
  const status = await without.send('GET', '/connect/status');
  assert.equal(status.body, { connected: false, payment_account_id: null, charges_enabled: false, payouts_enabled: false });
  await without.close();
});

test('for a subscribed tenant, a second checkout is refused and the portal can be opened; after the subscription is canceled, the tenant can subscribe again', async () => {
  await p.reportSubscription('active', 1_000);
  assert.equal(problemOf(await start()), [409, 'conflict']);
  const portal = await p.send('POST', `${billing}/portal`);
  assert.is(portal.status, 200);
  assert.match((portal.body as { url: string }).url, /^https:\/\/billing\.stripe\.com\//);
  assert.equal(p.eventsOf('BillingPortalOpened').at(-1)!.data, { customer_id: 'cus_test1' });
  await p.reportSubscription('canceled', 2_000);
  assert.is((await start()).status, 201);
  assert.is(p.stripe.sessions.at(-1)!.customer, 'cus_test1', 'the customer is known by then');
});

test('every request to the payment provider has an Idempotency-Key, and no request has the secret key in its body', () => {
  assert.ok(p.stripe.requests.length > 0);
  for (const { idempotencyKey, text } of p.stripe.requests) {
    assert.ok(idempotencyKey.length > 20);
    assert.not.ok(text.includes(SECRET_KEY));
  }
});

afterLastTest(() => p.close());
test.run();
