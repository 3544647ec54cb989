import { createHmac } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { refusalOf, signatureFault } from '../../commands/deliveries/delivery-rejection.ts';
import type { Provider } from '../../domain/integrations/provider.ts';
import { identityOf, presetOf } from '../../domain/integrations/provider-preset.ts';
import { verifySignature } from '../../domain/integrations/signature.ts';
import { SIGNERS } from '../fixtures/provider-signatures.ts';

type Headers = Readonly<Record<string, string>>;
/** The headers that an edition of a provider sends beside the signature, or instead of the usual one. */
type Edition = {
  readonly title: string;
  readonly provider: Provider;
  readonly headers: Headers;
  readonly id: string;
  readonly event: string | null;
};

const BODY = '{"ref":"refs/heads/main"}';
const bare = createHmac('sha256', SIGNERS.github.secret).update(BODY).digest('hex');

const EDITIONS: readonly Edition[] = [
  // https://docs.github.com/en/webhooks/webhook-events-and-payloads#delivery-headers
  {
    title: 'GitHub',
    provider: 'github',
    headers: { 'x-github-event': 'push', 'x-github-delivery': 'g-1', 'x-github-hook-id': '1' },
    id: 'g-1',
    event: 'push',
  },
  // https://docs.github.com/en/enterprise-server/webhooks/webhook-events-and-payloads#delivery-headers
  {
    title: 'GitHub Enterprise Server',
    provider: 'github',
    headers: {
      'x-github-event': 'push',
      'x-github-delivery': 'g-2',
      'x-github-enterprise-host': 'git.example.com',
      'x-github-enterprise-version': '3.16',
    },
    id: 'g-2',
    event: 'push',
  },
  // https://docs.gitea.com/usage/webhooks
  {
    title: 'Gitea and Forgejo',
    provider: 'github',
    headers: {
      'x-github-event': 'push',
      'x-github-delivery': 'g-3',
      'x-gitea-event': 'push',
      'x-gitea-delivery': 'g-3',
      'x-gitea-signature': bare,
    },
    id: 'g-3',
    event: 'push',
  },
  // https://github.com/gogs/gogs: deliver() in internal/database/webhook.go
  {
    title: 'Gogs',
    provider: 'github',
    headers: { 'x-hub-signature-256': '', 'x-gogs-event': 'push', 'x-gogs-delivery': 'g-4', 'x-gogs-signature': bare },
    id: 'g-4',
    event: 'push',
  },
  {
    title: 'Gitea before GitHub-like signatures',
    provider: 'github',
    headers: { 'x-hub-signature-256': '', 'x-gitea-event': 'push', 'x-gitea-delivery': 'g-5', 'x-gitea-signature': bare },
    id: 'g-5',
    event: 'push',
  },
  // https://docs.gitlab.com/user/project/integrations/webhooks/#delivery-headers
  {
    title: 'GitLab with a signing token',
    provider: 'gitlab',
    headers: { 'x-gitlab-event': 'Push Hook', 'webhook-id': 'l-1', 'idempotency-key': 'k-1' },
    id: 'l-1',
    event: 'Push Hook',
  },
  {
    title: 'GitLab from 17.4',
    provider: 'gitlab_token',
    headers: { 'x-gitlab-event': 'Push Hook', 'idempotency-key': 'l-2', 'x-gitlab-event-uuid': 'u-2' },
    id: 'l-2',
    event: 'Push Hook',
  },
  {
    title: 'GitLab before 17.4',
    provider: 'gitlab_token',
    headers: { 'x-gitlab-event': 'Push Hook', 'x-gitlab-event-uuid': 'l-4', 'x-gitlab-webhook-uuid': 'w-4' },
    id: 'l-4',
    event: 'Push Hook',
  },
  // https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/#HTTP-headers
  {
    title: 'Bitbucket Cloud',
    provider: 'bitbucket',
    headers: { 'x-event-key': 'repo:push', 'x-request-uuid': 'b-1', 'x-hook-uuid': 'h-1', 'x-attempt-number': '1' },
    id: 'b-1',
    event: 'repo:push',
  },
  {
    title: 'Bitbucket Cloud behind a proxy that numbers requests',
    provider: 'bitbucket',
    headers: { 'x-event-key': 'repo:push', 'x-request-uuid': 'b-2', 'x-request-id': 'proxy' },
    id: 'b-2',
    event: 'repo:push',
  },
  // https://confluence.atlassian.com/bitbucketserver/event-payload-938025882.html
  {
    title: 'Bitbucket Data Center',
    provider: 'bitbucket',
    headers: { 'x-event-key': 'repo:refs_changed', 'x-request-id': 'b-3' },
    id: 'b-3',
    event: 'repo:refs_changed',
  },
  // https://developer.atlassian.com/cloud/jira/platform/webhooks/
  {
    title: 'Jira Cloud',
    provider: 'jira',
    headers: { 'x-atlassian-webhook-identifier': 'j-1', 'x-atlassian-webhook-flow': 'Primary' },
    id: 'j-1',
    event: null,
  },
  // https://confluence.atlassian.com/adminjiraserver/managing-webhooks-938846912.html
  { title: 'Jira Data Center 10', provider: 'jira', headers: { 'x-request-id': 'j-2' }, id: 'j-2', event: null },
  // https://github.com/standard-webhooks/standard-webhooks, https://docs.svix.com/receiving/verifying-payloads/how-manual
  { title: 'Standard Webhooks', provider: 'standard_webhooks', headers: { 'webhook-id': 's-1' }, id: 's-1', event: null },
  { title: 'Svix', provider: 'standard_webhooks', headers: { 'svix-id': 's-2' }, id: 's-2', event: null },
  // https://shopify.dev/docs/apps/build/webhooks/verify-deliveries: several deliveries can have the same event id.
  {
    title: 'Shopify',
    provider: 'shopify',
    headers: { 'x-shopify-topic': 'orders/paid', 'x-shopify-event-id': 'h-1', 'x-shopify-webhook-id': 'w-1' },
    id: 'w-1',
    event: 'orders/paid',
  },
  {
    title: 'Shopify without the webhook id',
    provider: 'shopify',
    headers: { 'x-shopify-topic': 'orders/paid', 'x-shopify-event-id': 'h-2' },
    id: 'h-2',
    event: 'orders/paid',
  },
  // https://shopify.dev/docs/apps/build/events/delivery-structure
  {
    title: 'Shopify Events',
    provider: 'shopify',
    headers: {
      'x-shopify-hmac-sha256': '',
      'shopify-hmac-sha256': createHmac('sha256', SIGNERS.shopify.secret).update(BODY).digest('base64'),
      'shopify-topic': 'Product',
      'shopify-action': 'update',
      'shopify-event-id': 'h-3',
      'shopify-webhook-id': 'w-3',
    },
    id: 'w-3',
    event: 'Product',
  },
  // https://linear.app/developers/webhooks
  { title: 'Linear', provider: 'linear', headers: { 'linear-delivery': 'i-1', 'linear-event': 'Issue' }, id: 'i-1', event: 'Issue' },
  // https://developer.pagerduty.com/docs/webhooks-overview
  {
    title: 'PagerDuty',
    provider: 'pagerduty',
    headers: { 'x-webhook-id': 'p-1', 'x-webhook-subscription': 'PGR0VU2' },
    id: 'p-1',
    event: null,
  },
  // https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
  { title: 'Sentry', provider: 'sentry', headers: { 'sentry-hook-resource': 'issue', 'request-id': 'e-1' }, id: 'e-1', event: 'issue' },
  // https://www.twilio.com/docs/usage/webhooks/webhooks-faq
  { title: 'Twilio', provider: 'twilio', headers: { 'i-twilio-idempotency-token': 't-1' }, id: 't-1', event: null },
];

const URL = 'https://annals.test/hooks/inbound/h';

const signedBy = ({ provider, headers, id }: Edition): Headers => {
  const signed = SIGNERS[provider].headersOf({ body: BODY, url: URL, id, seconds: 1_700_000_000 });
  const isSvix = headers['svix-id'] !== undefined;
  const renamed = Object.entries(signed).map(([name, value]) => [isSvix ? name.replace('webhook-', 'svix-') : name, value]);
  return { ...Object.fromEntries(renamed), ...headers };
};

const presetFor = (provider: Provider) => presetOf({ provider, delivery_id_source: null, options: {} });

const requestWith = (headers: Headers) => ({ header: (name: string) => headers[name], url: () => URL, body: Buffer.from(BODY) });

for (const edition of EDITIONS)
  test(`${edition.title}: signature, delivery id and event are found in the headers of this edition`, () => {
    const preset = presetFor(edition.provider);
    const request = requestWith(signedBy(edition));
    const keys = { current: preset.scheme.key(SIGNERS[edition.provider].secret), previous: null };
    assert.is(verifySignature(preset.scheme, request, keys).reason, null);
    assert.equal(identityOf(preset, request), { delivery: edition.id, event: edition.event ?? undefined });
  });

type Cause = Parameters<typeof refusalOf>[0]['reason'];

const detailOf = (provider: Provider, reason: Cause): string => refusalOf({ reason }, presetFor(provider)).message;

/** Returns what the sender of a request reads whose signature cannot be read. */
const malformed = (provider: Provider, headers: Headers): string => {
  const preset = presetFor(provider);
  return refusalOf(signatureFault('signature_malformed', preset, requestWith(headers)), preset).message;
};

/** What is missing in a request, and the headers that the refusal must name. */
const MISSING: readonly (readonly [Provider, Cause, readonly string[]])[] = [
  ['github', 'delivery_id_missing', ['X-GitHub-Delivery', 'X-Gitea-Delivery', 'X-Forgejo-Delivery', 'X-Gogs-Delivery']],
  ['gitlab_token', 'delivery_id_missing', ['Idempotency-Key', 'X-Gitlab-Event-UUID']],
  ['bitbucket', 'delivery_id_missing', ['X-Request-UUID', 'X-Request-Id']],
  ['jira', 'delivery_id_missing', ['X-Atlassian-Webhook-Identifier', 'X-Request-Id']],
  ['linear', 'delivery_id_missing', ['Linear-Delivery']],
  ['shopify', 'delivery_id_missing', ['X-Shopify-Webhook-Id', 'Shopify-Webhook-Id', 'X-Shopify-Event-Id']],
  ['pagerduty', 'delivery_id_missing', ['X-Webhook-Id']],
  ['sentry', 'delivery_id_missing', ['Request-Id']],
  ['github', 'signature_missing', ['X-Hub-Signature-256']],
  ['gitlab_token', 'signature_missing', ['X-Gitlab-Token']],
  ['twilio', 'signature_missing', ['X-Twilio-Signature']],
  ['standard_webhooks', 'signature_missing', ['Webhook-Signature', 'Svix-Signature']],
];

for (const [provider, cause, names] of MISSING)
  test(`${provider}: the refusal ${cause} names each header that would be accepted`, () => {
    for (const name of names) assert.match(detailOf(provider, cause), new RegExp(`\\b${name}\\b`));
  });

test('a signature that cannot be checked because another header is missing is refused with the name of that header', () => {
  const signature = { 'x-slack-signature': `v0=${'0'.repeat(64)}`, 'webhook-signature': `v1,${'A'.repeat(43)}=` };
  assert.is(malformed('slack', signature), 'The header X-Slack-Request-Timestamp is missing');
  assert.is(malformed('standard_webhooks', { ...signature, 'webhook-timestamp': '1' }), 'The header Webhook-Id or Svix-Id is missing');
});

const SHA256 = 'ab'.repeat(32);
/** Headers with a signature that has another form than the provider's, and the form that the refusal names. */
const FORMS: readonly (readonly [Provider, Headers, string | RegExp])[] = [
  ['github', { 'x-hub-signature-256': 'sha256=0' }, 'X-Hub-Signature-256 must be sha256= and 64 hexadecimal digits in lower case'],
  ['github', { 'x-hub-signature-256': `sha1=${'a'.repeat(40)}` }, 'must be sha256= and 64 hexadecimal digits'],
  ['github', { 'x-hub-signature-256': `sha256=${SHA256.toUpperCase()}` }, 'hexadecimal digits in lower case'],
  ['github', { 'x-hub-signature-256': SHA256 }, 'must be sha256= and 64 hexadecimal digits'],
  ['github', { 'x-hub-signature-256': `sha256=${SHA256}, sha256=${SHA256}` }, 'must be sha256= and 64 hexadecimal digits'],
  [
    'github',
    { 'x-gogs-signature': 'sha256=0' },
    'X-Gitea-Signature, X-Forgejo-Signature or X-Gogs-Signature must be 64 hexadecimal digits',
  ],
  ['bitbucket', { 'x-hub-signature': `sha1=${'a'.repeat(40)}` }, 'X-Hub-Signature must be sha256= and 64 hexadecimal digits'],
  ['slack', { 'x-slack-signature': 'v1=0', 'x-slack-request-timestamp': '1' }, 'X-Slack-Signature must be v0= and 64 hexadecimal digits'],
  [
    'slack',
    { 'x-slack-signature': `v0=${SHA256}`, 'x-slack-request-timestamp': '2026-11-26T10:00:00Z' },
    'X-Slack-Request-Timestamp must contain the time of signing in seconds since 1970',
  ],
  ['gitlab_token', { 'x-gitlab-token': 'a'.repeat(5_000) }, 'X-Gitlab-Token must not be longer than 4096 characters'],
  [
    'standard_webhooks',
    {
      'webhook-signature': Array(11)
        .fill(`v1,${'A'.repeat(43)}=`)
        .join(' '),
      'webhook-timestamp': '1',
      'webhook-id': '1',
    },
    'must not have more than 10 signatures',
  ],
  ['custom_hmac', { 'x-signature': 'no' }, /must be 64 hexadecimal digits$/],
  ['stripe', { 'stripe-signature': 't=1,v0=ab' }, 'Stripe-Signature must contain v1= and 64 hexadecimal digits'],
  ['stripe', { 'stripe-signature': `v1=${SHA256}` }, 'Stripe-Signature must contain the time of signing'],
  ['shopify', { 'x-shopify-hmac-sha256': SHA256 }, 'X-Shopify-Hmac-Sha256 or Shopify-Hmac-Sha256 must be the Base64 of 32 bytes'],
  ['twilio', { 'x-twilio-signature': 'no' }, 'X-Twilio-Signature must be the Base64 of 20 bytes'],
  ['discord', { 'x-signature-ed25519': 'no', 'x-signature-timestamp': '1' }, 'X-Signature-Ed25519 must be 128 hexadecimal digits'],
  [
    'standard_webhooks',
    { 'webhook-signature': 'v1,no', 'webhook-timestamp': '1', 'webhook-id': '1' },
    'Webhook-Signature or Svix-Signature must contain v1, and the Base64 of 32 bytes',
  ],
];

for (const [provider, headers, form] of FORMS)
  test(`${provider}: a signature such as ${JSON.stringify(Object.values(headers)[0]).slice(0, 20)} is refused with the form that it must have`, () => {
    assert.match(malformed(provider, headers), form);
  });

test.run();
