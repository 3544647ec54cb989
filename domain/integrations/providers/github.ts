import { DAY } from '../conventions/delays.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { PASTE_SECRET } from '../conventions/setup-texts.ts';
import { hexOfBody } from '../conventions/signature-forms.ts';
import { header } from '../conventions/value-source.ts';

export const github = {
  label: 'GitHub',
  headerSpelling: 'GitHub',
  // https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
  // https://docs.gitea.com/usage/webhooks: Gogs, and old versions of the others, have only headers of their own.
  scheme: {
    ...hexOfBody('x-hub-signature-256', 'sha256='),
    otherwise: hexOfBody('x-gitea-signature', '', 'x-forgejo-signature', 'x-gogs-signature'),
  },
  // Gitea and Forgejo send the headers of GitHub, too; Gogs sends only its own.
  delivery: header('x-github-delivery', 'x-gitea-delivery', 'x-forgejo-delivery', 'x-gogs-delivery'),
  event: header('x-github-event', 'x-gitea-event', 'x-forgejo-event', 'x-gogs-event'),
  setup: [
    'Open the repository or organisation, then Settings, Webhooks, Add webhook.',
    'Paste the address as Payload URL.',
    'Choose the content type application/json.',
    PASTE_SECRET,
    'Choose the events and save. GitHub sends a ping at once.',
  ],
  // https://docs.github.com/en/webhooks/using-webhooks/handling-failed-webhook-deliveries
  retries: { signs: 'same', delaysSeconds: [], byHandSeconds: 3 * DAY },
  preview: [
    ['title', '/pull_request/title', '/issue/title', '/discussion/title', '/alert/summary'],
    ['name', '/workflow_run/name', '/check_run/name', '/release/name', '/label/name'],
    ['message', '/head_commit/message'],
    ['ref', '/ref'],
    ['repository', '/repository/full_name'],
    ['action', '/action'],
    ['sender', '/sender/login'],
    ['zen', '/zen'],
  ],
  samples: [
    {
      id: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
      event: 'ping',
      headers: { 'x-github-event': 'ping', 'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958' },
      body: '{"zen":"Non-blocking is better than blocking.","hook_id":30,"hook":{"type":"Repository","active":true}}',
    },
    {
      id: '72d3162e-cc78-11e3-81ab-4c9367dc0959',
      event: 'issues',
      headers: { 'x-github-event': 'issues', 'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0959' },
      body: '{"action":"opened","issue":{"number":1347,"title":"Found a bug"},"sender":{"login":"octocat"}}',
    },
    {
      id: '72d3162e-cc78-11e3-81ab-4c9367dc095a',
      event: 'pull_request',
      headers: { 'x-github-event': 'pull_request', 'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc095a' },
      body: '{"action":"opened","number":2,"pull_request":{"id":279147437,"state":"open","title":"Update the README with new information."}}',
    },
    {
      id: '72d3162e-cc78-11e3-81ab-4c9367dc095b',
      event: 'push',
      headers: { 'x-github-event': 'push', 'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc095b' },
      body: '{"ref":"refs/heads/main","repository":{"full_name":"Codertocat/Hello-World"},"pusher":{"name":"Codertocat"},"head_commit":{"id":"6113728f27ae82c7b1a177c8d03f9e96e0adf246","message":"Update the README"}}',
    },
  ],
} satisfies ProviderDefinition;
