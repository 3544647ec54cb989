import { createHmac } from 'node:crypto';
import { MINUTE } from '../conventions/delays.ts';
import { hasOnly, isChallenge } from '../conventions/handshake-checks.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { hexOfBody, signs, unixTime } from '../conventions/signature-forms.ts';
import { field, idField } from '../conventions/value-source.ts';

export const zoom = {
  label: 'Zoom',
  // https://developers.zoom.us/docs/api/webhooks/
  scheme: {
    ...hexOfBody('x-zm-signature', 'v0='),
    timestamp: unixTime('x-zm-request-timestamp'),
    ...signs('v0:{timestamp}:{body}'),
  },
  delivery: idField(),
  event: field('/event'),
  secret: { issuedAs: 'secret token' },
  setup: [
    'Open the app in the Zoom App Marketplace, then Feature, Event Subscriptions.',
    'Paste the address as Event notification endpoint URL, and validate it.',
    'The secret is the secret token of the same page.',
  ],
  // https://developers.zoom.us/docs/api/webhooks/#retry-policy
  retries: { signs: 'new', delaysSeconds: [5 * MINUTE, 30 * MINUTE, 90 * MINUTE], byHandSeconds: 0 },
  preview: [
    ['topic', '/payload/object/topic'],
    ['meeting', '/payload/object/id'],
  ],
  // https://developers.zoom.us/docs/api/webhooks/#validate-your-webhook-endpoint
  handshake: {
    pointers: ['/event', '/payload/plainToken'],
    reply: (fields, key) => {
      const plainToken = fields['/payload/plainToken'];
      if (fields['/event'] !== 'endpoint.url_validation' || !isChallenge(plainToken)) return null;
      return { status: 200, body: { plainToken, encryptedToken: createHmac('sha256', key).update(plainToken).digest('hex') } };
    },
    isBare: (document) => hasOnly(document, 'event', 'event_ts', 'payload') && hasOnly(document.payload, 'plainToken'),
  },
  // https://developers.zoom.us/docs/api/webhooks/: 200 or 204.
  answer: () => ({ status: 200, body: 'outcome' }),
  samples: [
    {
      id: 'digest',
      event: 'meeting.started',
      body: '{"event":"meeting.started","event_ts":1626230691572,"payload":{"account_id":"AAAAAABBBB","object":{"id":"1234567890","uuid":"4444AAAiAAAAAiAiAiiAii==","topic":"My Meeting","type":8}}}',
    },
    {
      id: 'digest',
      event: 'meeting.ended',
      body: '{"event":"meeting.ended","event_ts":1626230691572,"payload":{"account_id":"AAAAAABBBB","object":{"id":"1234567890","uuid":"4444AAAiAAAAAiAiAiiAii==","end_time":"2021-07-13T23:00:51Z"}}}',
    },
    {
      id: 'digest',
      event: 'recording.completed',
      body: '{"event":"recording.completed","event_ts":1626230691572,"payload":{"account_id":"AAAAAABBBB","object":{"id":"1234567890","share_url":"https://example.com","recording_files":[{"id":"ed6c2f27","file_type":"MP4"}]}}}',
    },
  ],
} satisfies ProviderDefinition;
