import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';

type Options = Pick<ReplyOf<Rows['getWebhookIntegration']>, 'options' | 'delivery_id_source'>;

/**
 * How a provider signs, as far as a shell command needs it. `algorithm` is the hash function of the HMAC; `token` means
 * that the header has the secret itself. `template` is what is signed, with `{body}`, `{id}`, `{timestamp}` or `{url}`.
 */
export type Scheme = {
  readonly algorithm: 'sha256' | 'sha1' | 'sha512' | 'token';
  /** `whsec`: the key are the bytes that the secret has in base64 after `whsec_`. */
  readonly key: 'text' | 'whsec';
  readonly encoding: 'hex' | 'base64';
  readonly template: string;
  /** The header of the signature. With `timePrefix`, it also has the time: this prefix, the time, a comma. */
  readonly signature: { readonly header: string; readonly prefix: string; readonly timePrefix?: string };
  /** The header with the delivery id; absent if the id is in the body. */
  readonly id?: string;
  /** The header with the event name; absent if the name is in the body. */
  readonly event?: string;
  /** The header with the time of signing. */
  readonly time?: string;
  /** The field of the body with the time of signing, in milliseconds. */
  readonly bodyTime?: string;
  /** The query parameter of the URL with the digest of the body. */
  readonly urlDigest?: string;
};

/** Returns the scheme in which a header has the HMAC-SHA-256 of the body, in hex after a prefix. */
const hexOfBody = (header: string, prefix = ''): Scheme => ({
  algorithm: 'sha256',
  key: 'text',
  encoding: 'hex',
  template: '{body}',
  signature: { header, prefix },
});

/** Like `hexOfBody`, but the signature covers the time, too. */
const timed = (header: string, time: string): Scheme => ({ ...hexOfBody(header, 'v0='), template: 'v0:{timestamp}:{body}', time });

const STANDARD_WEBHOOKS: Scheme = {
  algorithm: 'sha256',
  key: 'whsec',
  encoding: 'base64',
  template: '{id}.{timestamp}.{body}',
  signature: { header: 'webhook-signature', prefix: 'v1,' },
  id: 'webhook-id',
  time: 'webhook-timestamp',
};

/** Providers with a fixed scheme. Discord is not among them: only Discord has the key that signs. */
const SCHEMES: Readonly<Record<string, Scheme>> = {
  github: { ...hexOfBody('x-hub-signature-256', 'sha256='), id: 'x-github-delivery', event: 'x-github-event' },
  gitlab: { ...STANDARD_WEBHOOKS, event: 'x-gitlab-event' },
  gitlab_token: { ...hexOfBody('x-gitlab-token'), algorithm: 'token', id: 'idempotency-key', event: 'x-gitlab-event' },
  bitbucket: { ...hexOfBody('x-hub-signature', 'sha256='), id: 'x-request-uuid', event: 'x-event-key' },
  jira: { ...hexOfBody('x-hub-signature', 'sha256='), id: 'x-atlassian-webhook-identifier' },
  slack: timed('x-slack-signature', 'x-slack-request-timestamp'),
  zoom: timed('x-zm-signature', 'x-zm-request-timestamp'),
  stripe: {
    ...hexOfBody('stripe-signature'),
    template: '{timestamp}.{body}',
    signature: { header: 'stripe-signature', prefix: 'v1=', timePrefix: 't=' },
  },
  linear: { ...hexOfBody('linear-signature'), id: 'linear-delivery', event: 'linear-event', bodyTime: 'webhookTimestamp' },
  shopify: { ...hexOfBody('x-shopify-hmac-sha256'), encoding: 'base64', id: 'x-shopify-webhook-id', event: 'x-shopify-topic' },
  twilio: {
    ...hexOfBody('x-twilio-signature'),
    algorithm: 'sha1',
    encoding: 'base64',
    template: '{url}',
    id: 'i-twilio-idempotency-token',
    urlDigest: 'bodySHA256',
  },
  pagerduty: { ...hexOfBody('x-pagerduty-signature', 'v1='), id: 'x-webhook-id' },
  sentry: { ...hexOfBody('sentry-hook-signature'), id: 'request-id', event: 'sentry-hook-resource' },
  intercom: { ...hexOfBody('x-hub-signature', 'sha1='), algorithm: 'sha1' },
};

const isHeader = (source: string | null | undefined): source is string => source != null && !source.startsWith('/');

/** The options of custom_hmac. The API checks them when they are set. */
type CustomOptions = {
  readonly algorithm?: 'sha256' | 'sha1' | 'sha512' | 'ed25519';
  readonly encoding?: 'hex' | 'base64';
} & { readonly [Name in 'header' | 'prefix' | 'signed_message' | 'timestamp_header' | 'event_source']?: string };

/** Returns the scheme of an integration of custom_hmac, as its options say. */
const customScheme = ({ options, delivery_id_source }: Options): Scheme | null => {
  const { timestamp_header, event_source, ...custom } = options as CustomOptions;
  const { algorithm = 'sha256', header = 'X-Signature', prefix = '', encoding = 'hex', signed_message = '{body}' } = custom;
  if (algorithm === 'ed25519') return null;
  return {
    algorithm,
    key: 'text',
    encoding,
    template: signed_message,
    signature: { header, prefix },
    ...(timestamp_header && { time: timestamp_header }),
    ...(isHeader(delivery_id_source) && { id: delivery_id_source }),
    ...(isHeader(event_source) && { event: event_source }),
  };
};

/**
 * Returns how a provider signs. Null if it does not sign, or only it can sign. `integration` is null if it is not known:
 * then the scheme of a provider with options is not known either.
 */
export const schemeOf = (provider: string | null, integration: Options | null): Scheme | null => {
  if (provider === 'custom_hmac') return integration && customScheme(integration);
  if (provider === 'standard_webhooks') return integration && integration.options.algorithm !== 'ed25519' ? STANDARD_WEBHOOKS : null;
  return Object.hasOwn(SCHEMES, provider ?? '') ? SCHEMES[provider!]! : null;
};
