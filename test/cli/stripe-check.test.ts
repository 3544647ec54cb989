import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkStripe } from '../../infra/cli/stripe-check.ts';
import { startStripeServer } from '../fixtures/stripe-server.ts';

const server = await startStripeServer('sk_test_right');
const config = { stripeSecretKey: 'sk_test_right', stripeWebhookSecret: ['whsec_1'], egressAllow: [server.host] };

test('without a key, the doctor does not look at payments', async () =>
  assert.is((await checkStripe({ ...config, stripeSecretKey: undefined }, server.url)).level, 'none'));

test('with a key that Stripe accepts and a signing secret, payments are ok', async () =>
  assert.is((await checkStripe(config, server.url)).level, 'ok'));

test('without a signing secret, the doctor warns and says how to get one', async () => {
  const { level, advice } = await checkStripe({ ...config, stripeWebhookSecret: undefined }, server.url);
  assert.is(level, 'warn');
  assert.match(advice!, 'STRIPE_WEBHOOK_SECRET');
});

test('a key that Stripe refuses fails, and the message does not contain the key', async () => {
  const { level, message } = await checkStripe({ ...config, stripeSecretKey: 'sk_test_wrong' }, server.url);
  assert.is(level, 'fail');
  assert.not.match(message, /sk_test/);
});

test('a Stripe that does not answer fails', async () => {
  server.intercept((response) => {
    response.destroy();
    return true;
  });
  assert.is((await checkStripe(config, server.url)).level, 'fail');
});

test('the server stops without an error', () => server.close());

test.run();
