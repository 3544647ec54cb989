import { MINUTE, repeat } from '../conventions/delays.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { hexOfBody } from '../conventions/signature-forms.ts';
import { header } from '../conventions/value-source.ts';

export const shopify = {
  label: 'Shopify',
  // https://shopify.dev/docs/apps/build/webhooks/verify-deliveries, https://shopify.dev/docs/apps/build/events/delivery-structure:
  // the headers of Events have the same names without `X-`.
  scheme: {
    ...hexOfBody('x-shopify-hmac-sha256', '', 'shopify-hmac-sha256'),
    shape: /^([A-Za-z0-9+/]{43}=)$/,
    encoding: 'base64',
  },
  // The event id is that of a merchant's action, which can cause deliveries of several topics.
  delivery: header('x-shopify-webhook-id', 'shopify-webhook-id', 'x-shopify-event-id', 'shopify-event-id'),
  event: header('x-shopify-topic', 'shopify-topic'),
  secret: { issuedAs: 'client secret', mistaken: [[/^shp(?:at|ca|pa|ua)_/, 'an access token']] },
  setup: [
    'Open Settings, Notifications, Webhooks, or the webhooks of the app.',
    'Paste the address as URL, with the format JSON.',
    'The secret is the client secret of the app, or the one that the page of the webhooks shows.',
  ],
  // https://shopify.dev/changelog/updates-to-webhook-retry-mechanism: eight more attempts in four hours.
  retries: { signs: 'same', delaysSeconds: repeat(8, 30 * MINUTE), byHandSeconds: 0 },
  preview: [
    ['title', '/title', '/name'],
    ['total', '/total_price'],
    ['id', '/id'],
  ],
  samples: [
    {
      id: 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd043',
      event: 'orders/create',
      headers: {
        'x-shopify-topic': 'orders/create',
        'x-shopify-event-id': '98880550-7158-44d4-b7cd-2c97c8a091b5',
        'x-shopify-webhook-id': 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd043',
        'x-shopify-shop-domain': 'example.myshopify.com',
      },
      body: '{"id":820982911946,"email":"jon@example.com","currency":"USD","total_price":"398.00"}',
    },
    {
      id: 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd044',
      event: 'products/update',
      headers: {
        'x-shopify-topic': 'products/update',
        'x-shopify-event-id': '98880550-7158-44d4-b7cd-2c97c8a091b5',
        'x-shopify-webhook-id': 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd044',
        'x-shopify-shop-domain': 'example.myshopify.com',
      },
      body: '{"id":788032119674,"title":"Example T-Shirt","vendor":"Acme"}',
    },
    {
      id: 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd045',
      event: 'app/uninstalled',
      headers: {
        'x-shopify-topic': 'app/uninstalled',
        'x-shopify-event-id': '98880550-7158-44d4-b7cd-2c97c8a091b7',
        'x-shopify-webhook-id': 'b54557e4-bdd9-4b37-8a5f-bf7d70bcd045',
        'x-shopify-shop-domain': 'example.myshopify.com',
      },
      body: '{"id":548380009,"name":"Super Toys","domain":"super-toys.example"}',
    },
  ],
} satisfies ProviderDefinition;
