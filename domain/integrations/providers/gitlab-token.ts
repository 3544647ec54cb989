import { DAY } from '../conventions/delays.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { textKey } from '../conventions/signature-forms.ts';
import { header } from '../conventions/value-source.ts';
import { gitlab } from './gitlab.ts';

export const gitlabToken = {
  label: 'GitLab (secret token)',
  // https://docs.gitlab.com/user/project/integrations/webhooks/
  scheme: {
    headers: ['x-gitlab-token'],
    shape: /^([\s\S]+)$/,
    encoding: 'utf8',
    algorithm: 'token',
    key: textKey,
    template: '',
    message: () => [],
  },
  // GitLab before 17.4 sends only the last one, with the same value in all deliveries that one request causes at a
  // webhook, such as one push of several tags:
  // https://gitlab.com/gitlab-org/gitlab/-/blob/v17.3.0-ee/lib/gitlab/web_hooks/recursion_detection/uuid.rb
  delivery: { ...header('idempotency-key', 'x-gitlab-event-uuid'), shared: 'x-gitlab-event-uuid' },
  event: header('x-gitlab-event'),
  secret: { form: 'token' },
  setup: [
    'Open the project, then Settings, Webhooks, Add new webhook.',
    'Paste the address as URL.',
    'Paste the secret as secret token. It does not sign the body: prefer the signing token.',
    'Choose the triggers and save.',
  ],
  retries: { signs: 'same', delaysSeconds: [], byHandSeconds: 2 * DAY },
  preview: gitlab.preview,
  samples: gitlab.samples.map((sample) => ({ ...sample, id: sample.headers['idempotency-key'] })),
} satisfies ProviderDefinition;
