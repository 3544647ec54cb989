import { DAY, HOUR, MINUTE } from '../conventions/delays.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { hexOfBody, signs, TOLERANCE_SECONDS } from '../conventions/signature-forms.ts';
import { field, idField } from '../conventions/value-source.ts';

export const stripe = {
  label: 'Stripe',
  // https://docs.stripe.com/webhooks
  scheme: {
    ...hexOfBody('stripe-signature', 'v1='),
    separator: ',',
    timestamp: { headers: ['stripe-signature'], shape: /(?:^|,)\s*t=(\d{1,12})\s*(?:,|$)/, toleranceSeconds: TOLERANCE_SECONDS },
    ...signs('{timestamp}.{body}'),
  },
  delivery: idField('/id'),
  event: field('/type'),
  secret: {
    issuedAs: 'signing secret',
    mistaken: [
      [/^(?:sk|rk|pk)_(?:live|test)_/, 'an API key'],
      [/^(?:we|acct)_\w{10,}$/, 'an id'],
    ],
  },
  setup: [
    'Open Developers, Webhooks, Add endpoint.',
    'Paste the address as Endpoint URL, and choose the events.',
    'The secret is the signing secret (whsec_…) that Stripe then reveals.',
  ],
  // https://docs.stripe.com/webhooks#automatic-retries: for three days; by hand for 30 days.
  retries: {
    signs: 'new',
    delaysSeconds: [5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR, 44 * HOUR],
    byHandSeconds: 30 * DAY,
  },
  preview: [
    ['object', '/data/object/id'],
    ['amount', '/data/object/amount', '/data/object/amount_due'],
    ['status', '/data/object/status'],
  ],
  samples: [
    {
      id: 'evt_1MqqbKLt4dXK03v5qaIbiNCC',
      event: 'setup_intent.created',
      body: '{"id":"evt_1MqqbKLt4dXK03v5qaIbiNCC","object":"event","api_version":"2024-06-20","created":1680064028,"type":"setup_intent.created","livemode":false,"pending_webhooks":2,"data":{"object":{"id":"seti_1NG8Du2eZvKYlo2C9XMqbR0x","object":"setup_intent"}}}',
    },
    {
      id: 'evt_3MtwBwLkdIwHu7ix28a3tqPa',
      event: 'payment_intent.succeeded',
      body: '{"id":"evt_3MtwBwLkdIwHu7ix28a3tqPa","object":"event","api_version":"2024-06-20","created":1680064028,"type":"payment_intent.succeeded","livemode":false,"pending_webhooks":2,"data":{"object":{"id":"pi_3MtwBwLkdIwHu7ix28a3tqPa","object":"payment_intent","amount":2000}}}',
    },
    {
      id: 'evt_1NG8Du2eZvKYlo2CUI79vXWy',
      event: 'customer.subscription.deleted',
      body: '{"id":"evt_1NG8Du2eZvKYlo2CUI79vXWy","object":"event","api_version":"2024-06-20","created":1680064028,"type":"customer.subscription.deleted","livemode":false,"pending_webhooks":2,"data":{"object":{"id":"sub_1MowQVLkdIwHu7ixeRlqHVzs","status":"canceled"}}}',
    },
  ],
} satisfies ProviderDefinition;
