import { DAY } from '../conventions/delays.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { standardScheme } from '../conventions/signature-forms.ts';
import { header } from '../conventions/value-source.ts';

export const gitlab = {
  label: 'GitLab',
  // https://docs.gitlab.com/user/project/integrations/webhooks/
  scheme: standardScheme('webhook'),
  delivery: header('webhook-id'),
  event: header('x-gitlab-event'),
  isIdSigned: true,
  secret: { form: 'whsec' },
  setup: [
    'Open the project, then Settings, Webhooks, Add new webhook.',
    'Paste the address as URL.',
    'Paste the secret (whsec_…) as signing token.',
    'Choose the triggers and save. Test sends a sample.',
  ],
  // https://docs.gitlab.com/user/project/integrations/webhooks/#resend-a-request
  retries: { signs: 'new', delaysSeconds: [], byHandSeconds: 2 * DAY },
  preview: [
    ['title', '/object_attributes/title', '/merge_request/title', '/issue/title'],
    ['message', '/commits/0/message', '/commit/message'],
    ['status', '/object_attributes/status', '/build_status'],
    ['ref', '/ref', '/object_attributes/ref'],
    ['project', '/project/path_with_namespace'],
  ],
  samples: [
    {
      id: 'msg_Push_Hook',
      event: 'Push Hook',
      headers: { 'x-gitlab-event': 'Push Hook', 'webhook-id': 'msg_Push_Hook', 'idempotency-key': 'key-9' },
      body: '{"object_kind":"push","event_name":"push","before":"95790bf891e76fee5e1747ab589903a6a1f80f22","after":"da1560886d4f094c3e6c9ef40349f7d38b5d27d7","ref":"refs/heads/master","user_id":4,"user_name":"John Smith","project":{"id":15,"name":"Diaspora","path_with_namespace":"mike/diaspora","default_branch":"master"},"commits":[{"id":"b6568db1bc1dcd7f8b4d5a946b0b91f9dacd7327","message":"Update Catalan translation to e38cb41."}],"total_commits_count":4}',
    },
    {
      id: 'msg_Issue_Hook',
      event: 'Issue Hook',
      headers: { 'x-gitlab-event': 'Issue Hook', 'webhook-id': 'msg_Issue_Hook', 'idempotency-key': 'key-10' },
      body: '{"object_kind":"issue","event_type":"issue","user":{"id":1,"name":"Administrator","username":"root"},"object_attributes":{"id":301,"title":"New API: create/update/delete file","iid":23,"state":"opened","action":"open"}}',
    },
    {
      id: 'msg_Pipeline_Hook',
      event: 'Pipeline Hook',
      headers: { 'x-gitlab-event': 'Pipeline Hook', 'webhook-id': 'msg_Pipeline_Hook', 'idempotency-key': 'key-13' },
      body: '{"object_kind":"pipeline","object_attributes":{"id":31,"iid":3,"ref":"master","status":"success","duration":63,"variables":[{"key":"NESTOR_PROD_ENVIRONMENT","value":"us-west-1"}]},"commit":{"id":"bcbb5ec396a2c0f828686f14fac9b80b780504f2","message":"test\\n"}}',
    },
  ],
} satisfies ProviderDefinition;
