import { HOUR, MINUTE, repeat } from '../conventions/delays.ts';
import { hasOnly, isChallenge } from '../conventions/handshake-checks.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { hexOfBody, signs, unixTime } from '../conventions/signature-forms.ts';
import { field, idField } from '../conventions/value-source.ts';

/** `ssl_check=1` and at most one token, and nothing else. */
const isSslCheck = (form: string): boolean => {
  const fields = [...new URLSearchParams(`&${form}`)].sort(([a], [b]) => (a < b ? -1 : 1));
  const [[name, value] = [], [second] = ['token'], ...others] = fields;
  return name === 'ssl_check' && value === '1' && second === 'token' && others.length === 0;
};

export const slack = {
  label: 'Slack',
  // https://docs.slack.dev/authentication/verifying-requests-from-slack
  scheme: {
    ...hexOfBody('x-slack-signature', 'v0='),
    timestamp: unixTime('x-slack-request-timestamp'),
    ...signs('v0:{timestamp}:{body}'),
  },
  delivery: idField('/event_id', '/trigger_id'),
  event: field('/event/type', '/type', '/command'),
  forms: 'fields',
  secret: { issuedAs: 'signing secret', mistaken: [[/^x(?:ox[a-z]|app)-/, 'a token']] },
  setup: [
    'Open the app at api.slack.com, then Event Subscriptions, and enable them.',
    'Paste the address as Request URL. Slack checks it at once.',
    'The secret is the signing secret of Basic Information, App Credentials.',
    'Subscribe to bot events and save.',
  ],
  // https://docs.slack.dev/apis/events-api/#retries; with delayed events, hourly for a day after that.
  retries: { signs: 'new', delaysSeconds: [1, MINUTE, 5 * MINUTE, ...repeat(24, HOUR)], byHandSeconds: 0 },
  preview: [
    ['text', '/event/text', '/text'],
    ['action', '/actions/0/value', '/actions/0/action_id', '/callback_id'],
    ['reaction', '/event/reaction'],
    ['channel', '/event/channel', '/channel_name'],
    ['user', '/event/user', '/user_name', '/user/username', '/user/id'],
  ],
  // https://docs.slack.dev/reference/events/url_verification
  handshake: {
    pointers: ['/type', '/challenge'],
    reply: (fields) => {
      const challenge = fields['/challenge'];
      return fields['/type'] === 'url_verification' && isChallenge(challenge) ? { status: 200, body: { challenge } } : null;
    },
    isBare: (document) => hasOnly(document, 'token', 'challenge', 'type', 'api_app_id', 'team_id', 'enterprise_id'),
  },
  // https://github.com/slackapi/bolt-js/issues/1397 shows such a request.
  probe: {
    isUnsigned: (request, body) => /^application\/x-www-form-urlencoded\b/i.test(request.header('content-type') ?? '') && isSslCheck(body),
    isForm: isSslCheck,
  },
  // https://docs.slack.dev/interactivity/implementing-slash-commands#responding_immediate_response: the body of the
  // answer to a command is shown to people, and that to a dialog must be empty. Events are JSON, and need a 2xx only.
  answer: ({ media }) => (media === 'form' ? { status: 200, body: 'empty' } : null),
  samples: [
    {
      id: 'Ev0PV52K21',
      event: 'reaction_added',
      body: '{"token":"one-long-verification-token","team_id":"T061EG9R6","api_app_id":"A0PNCHHK2","event":{"type":"reaction_added","user":"U061F1EUR","reaction":"slightly_smiling_face","event_ts":"1360782804.083113"},"type":"event_callback","event_id":"Ev0PV52K21","event_time":1355517523}',
    },
    {
      id: 'Ev08MFMKH6',
      event: 'app_mention',
      body: '{"token":"one-long-verification-token","team_id":"T061EG9R6","api_app_id":"A0PNCHHK2","event":{"type":"app_mention","user":"U061F7AUR","text":"<@U0LAN0Z89> is it everything a river should be?","channel":"C123ABC456"},"type":"event_callback","event_id":"Ev08MFMKH6","event_time":1355517523}',
    },
    {
      id: '13345224609.738474920.8088930838d88f008e0',
      event: '/weather',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'token=gIkuvaNzQIHg97ATvDxqgjtO&team_id=T0001&command=%2Fweather&text=94070&trigger_id=13345224609.738474920.8088930838d88f008e0',
    },
    {
      id: '12321423423.333649436676.d8c1bb837935619ccad0f624c448ffb3',
      event: 'block_actions',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'payload=%7B%22type%22%3A%22block_actions%22%2C%22trigger_id%22%3A%2212321423423.333649436676.d8c1bb837935619ccad0f624c448ffb3%22%2C%22actions%22%3A%5B%7B%22action_id%22%3A%22WaXA%22%2C%22value%22%3A%22click_me_123%22%7D%5D%7D',
    },
  ],
} satisfies ProviderDefinition;
