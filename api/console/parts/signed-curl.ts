import type { ReplyOf } from '../../http/ask.ts';
import type { deliveryOperationsOf } from '../../webhooks/delivery.ts';

type Delivery = ReplyOf<ReturnType<typeof deliveryOperationsOf>['getDelivery']>;

/**
 * The signature of a provider: the header with the signature, its prefix, its encoding, and further headers of the
 * request.
 */
type Scheme = {
  readonly header: string;
  readonly prefix: string;
  readonly encoding: 'hex' | 'base64';
  readonly id: string;
  readonly event?: string;
};

/**
 * Maps providers to their signatures. Only providers whose signature is the HMAC-SHA-256 of the body alone are
 * included.
 */
const SCHEMES: Readonly<Record<string, Scheme>> = {
  github: { header: 'x-hub-signature-256', prefix: 'sha256=', encoding: 'hex', id: 'x-github-delivery', event: 'x-github-event' },
  bitbucket: { header: 'x-hub-signature', prefix: 'sha256=', encoding: 'hex', id: 'x-request-uuid', event: 'x-event-key' },
  linear: { header: 'linear-signature', prefix: '', encoding: 'hex', id: 'linear-delivery', event: 'linear-event' },
  shopify: { header: 'x-shopify-hmac-sha256', prefix: '', encoding: 'base64', id: 'x-shopify-webhook-id', event: 'x-shopify-topic' },
};

/** Quotes a text as one word for a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * Returns shell commands that send the body of a delivery again, with a new delivery id and signed with $SECRET. They
 * contain no secret. Null if the signature of the provider is of another kind, or there is no body.
 */
export const signedCurl = (delivery: Delivery, origin: string, tenant_id: string): string | null => {
  const { id, provider, event, content_type, integration_id, payload_missing } = delivery;
  const scheme = Object.hasOwn(SCHEMES, provider ?? '') ? SCHEMES[provider!] : undefined;
  if (!scheme || delivery.outcome === 'rejected' || (payload_missing !== null && payload_missing !== 'too_large')) return null;
  const encode = scheme.encoding === 'hex' ? `od -An -v -tx1 | tr -d ' \\n'` : 'base64';
  const headers = [
    `content-type: ${content_type ?? 'application/json'}`,
    ...(scheme.event && event !== null ? [`${scheme.event}: ${event}`] : []),
  ].map((header) => `-H ${quoted(header)}`);
  return [
    `curl -sf -H "authorization: Bearer $ANNALS_KEY" ${quoted(`${origin}/tenant/${tenant_id}/deliveries/${id}/body`)} -o body`,
    `SIGNATURE=$(openssl dgst -sha256 -hmac "$SECRET" -binary body | ${encode})`,
    `curl ${quoted(`${origin}/hooks/inbound/${integration_id}`)} ${headers.join(' ')} -H "${scheme.id}: $(uuidgen)" \\`,
    `  -H "${scheme.header}: ${scheme.prefix}$SIGNATURE" --data-binary @body`,
  ].join('\n');
};
