import { invalid } from '../../refusal.ts';
import { DAY, HOUR, MINUTE } from '../conventions/delays.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { PASTE_SECRET } from '../conventions/setup-texts.ts';
import { standardScheme } from '../conventions/signature-forms.ts';
import type { SignatureScheme } from '../conventions/signature-scheme.ts';
import { field, header } from '../conventions/value-source.ts';

const STANDARD_WEBHOOKS = standardScheme('webhook', 'svix');

/** With Ed25519 signatures; the secret of the integration is the public key of the sender. */
const ED25519: SignatureScheme = {
  ...STANDARD_WEBHOOKS,
  shape: /^v1a,([A-Za-z0-9+/]{86}==)$/,
  prefix: 'v1a,',
  algorithm: 'ed25519',
};

export const standardWebhooks = {
  label: 'Standard Webhooks',
  // https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
  scheme: STANDARD_WEBHOOKS,
  delivery: header('webhook-id', 'svix-id'),
  event: field('/type'),
  isIdSigned: true,
  options: ['algorithm'],
  checkOptions: ({ algorithm }) => {
    if (!['sha256', 'ed25519', undefined].includes(algorithm)) throw invalid('/options/algorithm', 'must be sha256 or ed25519');
  },
  withSettings: ({ options }) => (options.algorithm === 'ed25519' ? { scheme: ED25519 } : {}),
  secret: { form: 'whsec' },
  setup: ['Open the webhook settings of the service, such as those of Svix.', 'Paste the address as endpoint URL.', PASTE_SECRET],
  // https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#deliverability-and-reliability
  // The schedule is the one that the specification recommends.
  retries: {
    signs: 'new',
    delaysSeconds: [5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, DAY],
    byHandSeconds: 0,
  },
  samples: [
    {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      event: 'contact.created',
      headers: { 'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek' },
      body: '{"type":"contact.created","timestamp":"2022-11-03T20:26:10.344522Z","data":{"id":"1f81eb52-5198-4599-803e-771906343485","type":"contact"}}',
    },
    {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJel',
      event: 'invoice.paid',
      headers: { 'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJel' },
      body: '{"type":"invoice.paid","timestamp":"2022-11-03T20:26:10.344522Z","data":{"id":"in_1","amount":1200}}',
    },
    {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJem',
      event: null,
      headers: { 'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJem' },
      body: '{"test": 2432232314}',
    },
  ],
} satisfies ProviderDefinition;
