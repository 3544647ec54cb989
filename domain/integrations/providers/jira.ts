import { MINUTE, repeat } from '../conventions/delays.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { PASTE_SECRET } from '../conventions/setup-texts.ts';
import { hexOfBody } from '../conventions/signature-forms.ts';
import { field, header } from '../conventions/value-source.ts';

export const jira = {
  label: 'Jira',
  // https://developer.atlassian.com/cloud/jira/platform/webhooks/
  scheme: hexOfBody('x-hub-signature', 'sha256='),
  delivery: header('x-atlassian-webhook-identifier', 'x-request-id'),
  event: field('/webhookEvent'),
  setup: ['Open Settings, System, WebHooks, Create a WebHook.', 'Paste the address as URL.', PASTE_SECRET, 'Choose the events and save.'],
  // https://developer.atlassian.com/cloud/jira/platform/webhooks/: five more attempts, 5 to 15 minutes apart.
  retries: { signs: 'same', delaysSeconds: repeat(5, 15 * MINUTE), byHandSeconds: 0 },
  preview: [
    ['summary', '/issue/fields/summary'],
    ['comment', '/comment/body'],
    ['issue', '/issue/key', '/issue/id'],
  ],
  samples: [
    {
      id: '9d8a-1',
      event: 'jira:issue_created',
      headers: { 'x-atlassian-webhook-identifier': '9d8a-1' },
      body: '{"timestamp":1525698237764,"webhookEvent":"jira:issue_created","issue":{"id":"99291","key":"JRA-20002","fields":{"summary":"I feel the need for speed"}}}',
    },
    {
      id: '9d8a-2',
      event: 'jira:issue_updated',
      headers: { 'x-atlassian-webhook-identifier': '9d8a-2' },
      body: '{"timestamp":1525698237764,"webhookEvent":"jira:issue_updated","issue":{"id":"99291"},"changelog":{"id":10124,"items":[{"field":"summary","toString":"A new summary."}]}}',
    },
    {
      id: '9d8a-3',
      event: 'comment_created',
      headers: { 'x-atlassian-webhook-identifier': '9d8a-3' },
      body: '{"timestamp":1525698237764,"webhookEvent":"comment_created","comment":{"id":"252789","body":"Just in time for AtlasCamp!"}}',
    },
  ],
} satisfies ProviderDefinition;
