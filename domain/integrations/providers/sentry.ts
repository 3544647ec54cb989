import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { hexOfBody } from '../conventions/signature-forms.ts';
import { header } from '../conventions/value-source.ts';

export const sentry = {
  label: 'Sentry',
  // https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
  scheme: hexOfBody('sentry-hook-signature'),
  delivery: header('request-id'),
  event: header('sentry-hook-resource'),
  secret: { issuedAs: 'client secret', mistaken: [[/^sntry[a-z]_/, 'an auth token']] },
  setup: [
    'Open Settings, Custom Integrations, and create an internal integration.',
    'Paste the address as Webhook URL, and choose the resources.',
    'The secret is the client secret of that integration.',
  ],
  // https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
  retries: { signs: 'same', delaysSeconds: [], byHandSeconds: 0 },
  preview: [
    ['title', '/data/issue/title', '/data/event/title', '/data/error/title'],
    ['rule', '/data/triggered_rule'],
    ['action', '/action'],
  ],
  samples: [
    {
      id: '4a5b-1',
      event: 'installation',
      headers: { 'sentry-hook-resource': 'installation', 'request-id': '4a5b-1', 'sentry-hook-timestamp': '1640995200' },
      body: '{"action":"created","installation":{"uuid":"a8e5d37a-696c-4c54-adb5-b3f28d64c7de","status":"installed"}}',
    },
    {
      id: '4a5b-2',
      event: 'issue',
      headers: { 'sentry-hook-resource': 'issue', 'request-id': '4a5b-2', 'sentry-hook-timestamp': '1640995200' },
      body: '{"action":"created","data":{"issue":{"id":"1170820242","title":"ReferenceError: heck is not defined"}}}',
    },
    {
      id: '4a5b-3',
      event: 'event_alert',
      headers: { 'sentry-hook-resource': 'event_alert', 'request-id': '4a5b-3', 'sentry-hook-timestamp': '1640995200' },
      body: '{"action":"triggered","data":{"event":{"event_id":"e4874d664c3540c1a32eab185f12c5ab","level":"error"},"triggered_rule":"Very Important Alert Rule!"}}',
    },
  ],
} satisfies ProviderDefinition;
