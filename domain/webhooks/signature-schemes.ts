import type { Provider } from './provider.ts';
import type { SignatureScheme, SignedTimestamp } from './signature.ts';
import { signedMessage } from './signed-message.ts';
import { otherTwilioMessages, twilioMessage } from './twilio-message.ts';

/** The providers that have one fixed signature scheme. */
type SignedProvider = Exclude<Provider, 'custom_hmac'>;

/** The maximum difference between the signed timestamp of a delivery and the clock of the platform, in seconds. */
export const TOLERANCE_SECONDS = 300;

const HEX_SHA256 = '([0-9a-f]{64})';
const BASE64_SHA256 = '([A-Za-z0-9+/]{43}=)';
const WEBHOOK_SECRET = /^whsec_/;
const PUBLIC_KEY = /^whpk_/;

const textKey = (secret: string): Uint8Array => Buffer.from(secret);
const hexKey = (secret: string): Uint8Array => Buffer.from(secret, 'hex');
const base64Key = (secret: string): Uint8Array => Buffer.from(secret.replace(WEBHOOK_SECRET, '').replace(PUBLIC_KEY, ''), 'base64');

const unixTime = (...headers: string[]): SignedTimestamp => ({ headers, shape: /^(\d{1,12})$/, toleranceSeconds: TOLERANCE_SECONDS });

/**
 * Returns the scheme in which a header contains a prefix and then the HMAC-SHA-256 of the body in hex. `others` are
 * other names that the header can have.
 */
const hexOfBody = (header: string, prefix = '', ...others: string[]): SignatureScheme => ({
  headers: [header, ...others],
  shape: new RegExp(`^${prefix}${HEX_SHA256}$`),
  prefix,
  encoding: 'hex',
  algorithm: 'sha256',
  key: textKey,
  message: signedMessage('{body}'),
});

/**
 * Returns the scheme of https://www.standardwebhooks.com, in which the names of headers start with one of these
 * prefixes.
 */
const standardWebhooks = (...prefixes: string[]): SignatureScheme => {
  const headers = (name: string) => prefixes.map((prefix) => `${prefix}-${name}`);
  return {
    headers: headers('signature'),
    separator: ' ',
    shape: new RegExp(`^v1,${BASE64_SHA256}$`),
    prefix: 'v1,',
    encoding: 'base64',
    algorithm: 'sha256',
    key: base64Key,
    timestamp: unixTime(...headers('timestamp')),
    message: signedMessage('{id}.{timestamp}.{body}', headers('id')),
  };
};

export const STANDARD_WEBHOOKS = standardWebhooks('webhook', 'svix');

/** Standard Webhooks with Ed25519 signatures. The secret of the integration is the public key of the sender. */
export const STANDARD_WEBHOOKS_ED25519: SignatureScheme = {
  ...STANDARD_WEBHOOKS,
  shape: /^v1a,([A-Za-z0-9+/]{86}==)$/,
  prefix: 'v1a,',
  algorithm: 'ed25519',
};

/** Maps each provider to its signature scheme. The comment on each links to the documentation of the provider. */
export const signatureSchemes: Readonly<Record<SignedProvider, SignatureScheme>> = {
  // https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
  // https://docs.gitea.com/usage/webhooks: Gogs, and old versions of the others, have only headers of their own.
  github: {
    ...hexOfBody('x-hub-signature-256', 'sha256='),
    otherwise: hexOfBody('x-gitea-signature', '', 'x-forgejo-signature', 'x-gogs-signature'),
  },
  // https://docs.gitlab.com/user/project/integrations/webhooks/
  gitlab: standardWebhooks('webhook'),
  gitlab_token: {
    headers: ['x-gitlab-token'],
    shape: /^([\s\S]+)$/,
    encoding: 'utf8',
    algorithm: 'token',
    key: textKey,
    message: () => [],
  },
  // https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/
  bitbucket: hexOfBody('x-hub-signature', 'sha256='),
  // https://developer.atlassian.com/cloud/jira/platform/webhooks/
  jira: hexOfBody('x-hub-signature', 'sha256='),
  // https://docs.slack.dev/authentication/verifying-requests-from-slack
  slack: {
    ...hexOfBody('x-slack-signature', 'v0='),
    timestamp: unixTime('x-slack-request-timestamp'),
    message: signedMessage('v0:{timestamp}:{body}'),
  },
  // https://developers.zoom.us/docs/api/webhooks/
  zoom: {
    ...hexOfBody('x-zm-signature', 'v0='),
    timestamp: unixTime('x-zm-request-timestamp'),
    message: signedMessage('v0:{timestamp}:{body}'),
  },
  // https://docs.stripe.com/webhooks
  stripe: {
    ...hexOfBody('stripe-signature', 'v1='),
    separator: ',',
    timestamp: { headers: ['stripe-signature'], shape: /(?:^|,)\s*t=(\d{1,12})\s*(?:,|$)/, toleranceSeconds: TOLERANCE_SECONDS },
    message: signedMessage('{timestamp}.{body}'),
  },
  // https://linear.app/developers/webhooks. The timestamp is in a field of the body.
  linear: hexOfBody('linear-signature'),
  // https://shopify.dev/docs/apps/build/webhooks/subscribe/https
  shopify: {
    ...hexOfBody('x-shopify-hmac-sha256'),
    shape: new RegExp(`^${BASE64_SHA256}$`),
    encoding: 'base64',
  },
  twilio: {
    headers: ['x-twilio-signature'],
    shape: /^([A-Za-z0-9+/]{27}=)$/,
    encoding: 'base64',
    algorithm: 'sha1',
    key: textKey,
    message: twilioMessage,
    alternatives: otherTwilioMessages,
  },
  // https://discord.com/developers/docs/interactions/overview
  discord: {
    headers: ['x-signature-ed25519'],
    shape: /^([0-9a-f]{128})$/,
    encoding: 'hex',
    algorithm: 'ed25519',
    key: hexKey,
    timestamp: unixTime('x-signature-timestamp'),
    message: signedMessage('{timestamp}{body}'),
  },
  // https://developer.pagerduty.com/docs/verifying-webhook-signatures
  pagerduty: { ...hexOfBody('x-pagerduty-signature', 'v1='), separator: ',' },
  // https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
  sentry: hexOfBody('sentry-hook-signature'),
  // https://developers.intercom.com/docs/webhooks/webhook-notifications
  intercom: {
    headers: ['x-hub-signature'],
    shape: /^sha1=([0-9a-f]{40})$/,
    prefix: 'sha1=',
    encoding: 'hex',
    algorithm: 'sha1',
    key: textKey,
    message: signedMessage('{body}'),
  },
  standard_webhooks: STANDARD_WEBHOOKS,
};
