import { DAY, MINUTE } from '../conventions/delays.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { PASTE_SECRET } from '../conventions/setup-texts.ts';
import { hexOfBody } from '../conventions/signature-forms.ts';
import { header } from '../conventions/value-source.ts';

const isTestBody = (body: string): boolean => /^\s*\{\s*(?:"test"\s*:\s*true\s*)?\}\s*$/.test(body);

export const bitbucket = {
  label: 'Bitbucket',
  // https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/
  scheme: hexOfBody('x-hub-signature', 'sha256='),
  // https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html: the second one is that of Data Center.
  delivery: header('x-request-uuid', 'x-request-id'),
  event: header('x-event-key'),
  setup: [
    'Open the repository, then Repository settings, Webhooks, Add webhook.',
    'Paste the address as URL.',
    PASTE_SECRET,
    'Choose the triggers.',
  ],
  // https://support.atlassian.com/bitbucket-cloud/docs/troubleshoot-webhooks/: two more attempts after a 5xx.
  retries: { signs: 'same', delaysSeconds: [5 * MINUTE, 5 * MINUTE], byHandSeconds: 30 * DAY },
  preview: [
    ['title', '/pullrequest/title', '/issue/title'],
    ['branch', '/push/changes/0/new/name', '/push/changes/0/old/name'],
    ['repository', '/repository/full_name'],
  ],
  // "Test connection" in Data Center, which is not signed: https://github.com/runatlantis/atlantis/issues/474
  probe: {
    isUnsigned: (request, body) => request.header('x-event-key') === 'diagnostics:ping' && isTestBody(body),
  },
  samples: [
    {
      id: '2b6ae5a0-1d4a-4c5d-9a0e-1f2a3b4c5d6e',
      event: 'repo:push',
      headers: {
        'x-event-key': 'repo:push',
        'x-request-uuid': '2b6ae5a0-1d4a-4c5d-9a0e-1f2a3b4c5d6e',
        'x-hook-uuid': 'a00a05ac-32b9-471a-9ff1-4f8dd9b77e5e',
      },
      body: '{"push":{"changes":[{"new":{"type":"branch","name":"name-of-branch"}}]},"repository":{"type":"repository","full_name":"team_name/repo_name","uuid":"{673a6070-3421-46c9-9d48-90745f7bfe8e}"}}',
    },
    {
      id: '2b6ae5a0-1d4a-4c5d-9a0e-1f2a3b4c5d6f',
      event: 'pullrequest:created',
      headers: {
        'x-event-key': 'pullrequest:created',
        'x-request-uuid': '2b6ae5a0-1d4a-4c5d-9a0e-1f2a3b4c5d6f',
        'x-hook-uuid': 'a00a05ac-32b9-471a-9ff1-4f8dd9b77e5e',
      },
      body: '{"pullrequest":{"id":1,"title":"Title of pull request","state":"OPEN"},"repository":{"type":"repository","full_name":"team_name/repo_name","uuid":"{673a6070-3421-46c9-9d48-90745f7bfe8e}"}}',
    },
    {
      id: '2b6ae5a0-1d4a-4c5d-9a0e-1f2a3b4c5d70',
      event: 'issue:created',
      headers: {
        'x-event-key': 'issue:created',
        'x-request-uuid': '2b6ae5a0-1d4a-4c5d-9a0e-1f2a3b4c5d70',
        'x-hook-uuid': 'a00a05ac-32b9-471a-9ff1-4f8dd9b77e5e',
      },
      body: '{"issue":{"id":1,"component":"component","title":"Issue title"},"repository":{"type":"repository","full_name":"team_name/repo_name","uuid":"{673a6070-3421-46c9-9d48-90745f7bfe8e}"}}',
    },
  ],
} satisfies ProviderDefinition;
