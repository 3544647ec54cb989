import { MINUTE, repeat } from '../conventions/delays.ts';
import { hasNone } from '../conventions/handshake-checks.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { signs, unixTime } from '../conventions/signature-forms.ts';
import { field, idField } from '../conventions/value-source.ts';

export const discord = {
  label: 'Discord',
  // https://discord.com/developers/docs/interactions/overview
  scheme: {
    headers: ['x-signature-ed25519'],
    shape: /^([0-9a-f]{128})$/,
    encoding: 'hex',
    algorithm: 'ed25519',
    key: (secret: string) => Buffer.from(secret, 'hex'),
    timestamp: unixTime('x-signature-timestamp'),
    ...signs('{timestamp}{body}'),
  },
  delivery: idField('/id'),
  event: field('/event/type', '/type'),
  secret: { issuedAs: 'public key', form: 'public_key' },
  setup: [
    'Open the application in the developer portal.',
    'The secret is the public key of General Information.',
    'Paste the address as Interactions or Webhook Events endpoint.',
    'Save. The provider checks the address at once, and Annals answers that check.',
  ],
  // https://discord.com/developers/docs/events/webhook-events: for ten minutes. Interactions are sent once.
  retries: { signs: 'new', delaysSeconds: repeat(10, MINUTE), byHandSeconds: 0 },
  preview: [
    ['command', '/data/name'],
    ['type', '/event/type'],
    ['id', '/id', '/application_id'],
  ],
  // https://discord.com/developers/docs/interactions/overview: an interaction has type 1 and an id, and a webhook event
  // has type 0.
  handshake: {
    pointers: ['/type', '/id'],
    reply: (fields) => {
      if (fields['/type'] === '1' && fields['/id'] !== undefined) return { status: 200, body: { type: 1 } };
      return fields['/type'] === '0' ? { status: 204, body: null } : null;
    },
    isBare: (document) => hasNone(document, 'event', 'data', 'message'),
  },
  // https://discord.com/developers/docs/interactions/receiving-and-responding: 202 without a body leaves the answer to an
  // interaction to a later call. https://discord.com/developers/docs/events/webhook-events: an event gets 204.
  answer: ({ fields }) => (fields['/event/type'] === undefined ? { status: 202, body: 'empty' } : { status: 204, body: 'empty' }),
  samples: [
    {
      id: '1234565789',
      event: '2',
      body: '{"id":"1234565789","application_id":"1234560123453231555","type":2,"data":{"id":"771825006014889984","name":"cardsearch"},"token":"A_UNIQUE_TOKEN","version":1}',
    },
    {
      id: 'digest',
      event: 'APPLICATION_AUTHORIZED',
      body: '{"version":1,"application_id":"1234560123453231555","type":1,"event":{"type":"APPLICATION_AUTHORIZED","timestamp":"2024-10-18T14:42:53.064834","data":{"integration_type":1}}}',
    },
    {
      id: 'digest',
      event: 'ENTITLEMENT_CREATE',
      body: '{"version":1,"application_id":"1234560123453231555","type":1,"event":{"type":"ENTITLEMENT_CREATE","timestamp":"2024-10-18T18:41:21.109604","data":{"sku_id":"1158857122189168803"}}}',
    },
  ],
} satisfies ProviderDefinition;
