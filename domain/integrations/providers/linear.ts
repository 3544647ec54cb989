import { HOUR, MINUTE } from '../conventions/delays.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { hexOfBody } from '../conventions/signature-forms.ts';
import { header } from '../conventions/value-source.ts';

export const linear = {
  label: 'Linear',
  // https://linear.app/developers/webhooks. The timestamp is in a field of the body.
  scheme: hexOfBody('linear-signature'),
  delivery: header('linear-delivery'),
  event: { headers: ['linear-event'], pointers: ['/type'] },
  bodyTimestamp: { pointer: '/webhookTimestamp', toleranceSeconds: 60 },
  secret: { issuedAs: 'signing secret', mistaken: [[/^lin_(?:api|oauth)_/, 'an API key']] },
  setup: ['Open Settings, API, Webhooks, New webhook.', 'Paste the address as URL.', 'The secret is the signing secret of that webhook.'],
  // https://linear.app/developers/webhooks
  retries: { signs: 'same', delaysSeconds: [MINUTE, HOUR, 6 * HOUR], byHandSeconds: 0 },
  preview: [
    ['title', '/data/title', '/data/name', '/data/body'],
    ['action', '/action'],
  ],
  // https://linear.app/developers/webhooks: any other status counts as a failure, and Linear disables the webhook.
  answer: () => ({ status: 200, body: 'outcome' }),
  samples: [
    {
      id: '234d1a4e-b617-4388-90fe-adc3633d6b72',
      event: 'Issue',
      headers: { 'linear-event': 'Issue', 'linear-delivery': '234d1a4e-b617-4388-90fe-adc3633d6b72' },
      body: '{"action":"create","type":"Issue","createdAt":"2020-01-23T12:53:18.084Z","data":{"id":"2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9","title":"Save the rainforest"},"url":"https://linear.app/issue/LIN-1778","webhookTimestamp":0}',
    },
    {
      id: '234d1a4e-b617-4388-90fe-adc3633d6b73',
      event: 'Comment',
      headers: { 'linear-event': 'Comment', 'linear-delivery': '234d1a4e-b617-4388-90fe-adc3633d6b73' },
      body: '{"action":"create","type":"Comment","createdAt":"2020-01-23T12:53:18.084Z","data":{"id":"2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9","body":"Indeed, I think this is definitely an improvement."},"url":"https://linear.app/issue/LIN-1778","webhookTimestamp":0}',
    },
    {
      id: '234d1a4e-b617-4388-90fe-adc3633d6b74',
      event: 'Project',
      headers: { 'linear-event': 'Project', 'linear-delivery': '234d1a4e-b617-4388-90fe-adc3633d6b74' },
      body: '{"action":"create","type":"Project","createdAt":"2020-01-23T12:53:18.084Z","data":{"id":"9cfb482a-81e3-4154-b5b9-2c805e70a02d","name":"Rainforest"},"url":"https://linear.app/issue/LIN-1778","webhookTimestamp":0}',
    },
  ],
} satisfies ProviderDefinition;
