import { MINUTE, repeat } from '../conventions/delays.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { hexOfBody } from '../conventions/signature-forms.ts';
import { field, header } from '../conventions/value-source.ts';

export const pagerduty = {
  label: 'PagerDuty',
  headerSpelling: 'PagerDuty',
  // https://developer.pagerduty.com/docs/verifying-webhook-signatures
  scheme: { ...hexOfBody('x-pagerduty-signature', 'v1='), separator: ',' },
  delivery: header('x-webhook-id'),
  event: field('/event/event_type'),
  secret: { issuedAs: 'signing secret' },
  setup: [
    'Open Integrations, Generic Webhooks (v3), New Webhook.',
    'Paste the address as Webhook URL.',
    'The secret is the signing secret that is shown once.',
  ],
  // https://support.pagerduty.com/main/docs/webhooks: ten more attempts in a day.
  retries: { signs: 'same', delaysSeconds: repeat(10, 144 * MINUTE), byHandSeconds: 0 },
  preview: [
    ['title', '/event/data/title', '/event/data/summary'],
    ['status', '/event/data/status'],
    ['incident', '/event/data/id'],
  ],
  samples: [
    {
      id: '01CJ1E5V6',
      event: 'incident.triggered',
      headers: { 'x-webhook-id': '01CJ1E5V6' },
      body: '{"event":{"id":"5ac64822-4adc-4fda-ade0-410becf0de4f","event_type":"incident.triggered","resource_type":"incident","occurred_at":"2020-10-02T18:45:22.169Z","data":{"id":"PGR0VU2","type":"incident","number":2,"status":"triggered","title":"A little bump in the road"}}}',
    },
    {
      id: '01CJ1E5V7',
      event: 'incident.acknowledged',
      headers: { 'x-webhook-id': '01CJ1E5V7' },
      body: '{"event":{"id":"5ac64822-4adc-4fda-ade0-410becf0de4f","event_type":"incident.acknowledged","resource_type":"incident","occurred_at":"2020-10-02T18:45:22.169Z","data":{"id":"PGR0VU2","type":"incident","status":"acknowledged"}}}',
    },
    {
      id: '01CJ1E5V8',
      event: 'incident.resolved',
      headers: { 'x-webhook-id': '01CJ1E5V8' },
      body: '{"event":{"id":"5ac64822-4adc-4fda-ade0-410becf0de4f","event_type":"incident.resolved","resource_type":"incident","occurred_at":"2020-10-02T18:45:22.169Z","data":{"id":"PGR0VU2","type":"incident","status":"resolved","resolve_reason":null}}}',
    },
  ],
} satisfies ProviderDefinition;
