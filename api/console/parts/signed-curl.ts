import type { ReplyOf } from '../../http/ask.ts';
import type { deliveryOperationsOf } from '../../webhooks/delivery.ts';

type Delivery = ReplyOf<ReturnType<typeof deliveryOperationsOf>['getDelivery']>;

/**
 * How a provider signs: the header of the signature, its prefix and its encoding. `id` and `event` are names of other
 * headers.
 */
type Scheme = {
  readonly header: string;
  readonly prefix: string;
  readonly encoding: 'hex' | 'base64';
  readonly id: string;
  readonly event?: string;
};

/** The signature schemes of providers. Only those are included that sign the body alone with HMAC-SHA-256. */
const SCHEMES: Readonly<Record<string, Scheme>> = {
  github: { header: 'x-hub-signature-256', prefix: 'sha256=', encoding: 'hex', id: 'x-github-delivery', event: 'x-github-event' },
  bitbucket: { header: 'x-hub-signature', prefix: 'sha256=', encoding: 'hex', id: 'x-request-uuid', event: 'x-event-key' },
  linear: { header: 'linear-signature', prefix: '', encoding: 'hex', id: 'linear-delivery', event: 'linear-event' },
  shopify: { header: 'x-shopify-hmac-sha256', prefix: '', encoding: 'base64', id: 'x-shopify-webhook-id', event: 'x-shopify-topic' },
};

/** Quotes a text as a single word of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * Returns shell commands that send the body of a delivery again, with a new delivery id. They sign it with $SECRET, so
 * they contain no secret themselves. Null if the provider signs in another way, or if there is no body.
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
