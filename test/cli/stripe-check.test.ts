import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { checkStripe } from '../../infra/cli/doctor/stripe-check.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { startStripeServer } from '../fixtures/stripe-server.ts';

const server = await startStripeServer('sk_test_right');
const config = { stripeSecretKey: 'sk_test_right', stripeWebhookSecret: ['whsec_1'], egressAllow: [server.host] };

test('without STRIPE_SECRET_KEY, doctor skips the check of payments', async () =>
  assert.is((await checkStripe({ ...config, stripeSecretKey: undefined }, server.url)).level, 'none'));

test('if Stripe accepts the key, and a signing secret is set, the check of payments passes', async () =>
  assert.is((await checkStripe(config, server.url)).level, 'ok'));

test('if the signing secret of Stripe is missing, doctor warns and says how to get one', async () => {
  const { level, advice } = await checkStripe({ ...config, stripeWebhookSecret: undefined }, server.url);
  assert.is(level, 'warn');
  assert.match(advice!, 'STRIPE_WEBHOOK_SECRET');
});

test('if Stripe refuses the key, the check of payments fails, and its output does not contain the key', async () => {
  const { level, message } = await checkStripe({ ...config, stripeSecretKey: 'sk_test_wrong' }, server.url);
  assert.is(level, 'fail');
  assert.not.match(message, /sk_test/);
});

test('if Stripe does not answer, the check of payments fails', async () => {
  server.intercept((response) => {
    response.destroy();
    return true;
  });
  assert.is((await checkStripe(config, server.url)).level, 'fail');
});

afterLastTest(() => server.close());

test.run();
