import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { curlScheme } from '../../integrations/curl-scheme.ts';

type Delivery = Pick<
  ReplyOf<Rows['getDelivery']>,
  'id' | 'provider' | 'event' | 'outcome' | 'content_type' | 'integration_id' | 'payload_missing'
>;
type Integration = Pick<ReplyOf<Rows['getWebhookIntegration']>, 'options' | 'delivery_id_source'>;

/** Quotes a text as a single word of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Returns a shell word for a header whose value ends with an expression in double quotes, such as `"$ID"`. */
const header = (name: string, literal: string, expression = ''): string =>
  `-H ${quoted(`${name}: ${literal}`)}${expression && `"${expression}"`}`;

const FIELDS: Readonly<Record<string, string>> = { id: '"$ID"', timestamp: '"$TIME"', url: '"$URL"' };

/** Returns the commands that print the signed bytes. `template` has `{body}`, and can have `{id}`, `{timestamp}`, `{url}`. */
const printed = (template: string): string =>
  template
    .split(/\{(body|id|timestamp|url)\}/)
    .flatMap((text, index) => {
      if (index % 2 === 0) return text === '' ? [] : [`printf %s ${quoted(text)}`];
      return text === 'body' ? ['cat body'] : [`printf %s ${FIELDS[text]}`];
    })
    .join('; ');

/** The HMAC key in the form that openssl accepts: the text of the secret, or the bytes after `whsec_` in base64. */
const KEYS = {
  text: '-hmac "$SECRET"',
  whsec: `-mac HMAC -macopt "hexkey:$(printf %s "\${SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')"`,
} as const;

const ENCODERS = { hex: `od -An -v -tx1 | tr -d ' \\n'`, base64: 'openssl base64 -A' } as const;

const NEW_ID = 'Sends the same bytes again under a new id.';
const NEW_TIME = 'Sends the same body with the present time in it again, under a new id.';
const SAME_ID = 'Sends the same bytes again. The id of the delivery is in them, so the platform answers that it knows this delivery.';

/** Shell commands that send a delivery again, and a sentence that says what they do. */
export type SignedCurl = { readonly command: string; readonly note: string };

/**
 * Returns shell commands that send the body of a delivery again. They sign it with openssl and $SECRET, so they contain
 * no secret themselves. Null if there is no body, or if only the sender can sign, because the secret is a public key.
 * `integration` has the options of custom_hmac and standard_webhooks; null if the visitor may not see it.
 */
export const signedCurl = (
  delivery: Delivery,
  integration: Integration | null,
  { origin, tenant_id }: { readonly origin: string; readonly tenant_id: string },
): SignedCurl | null => {
  const { id, provider, event, content_type, integration_id, payload_missing } = delivery;
  const scheme = curlScheme(provider, integration);
  if (!scheme || delivery.outcome === 'rejected' || (payload_missing !== null && payload_missing !== 'too_large')) return null;
  const { template, signature, algorithm, key, encoding } = scheme;
  const times = scheme.bodyTime
    ? [`sed -E 's/("${scheme.bodyTime}": *)[0-9]+/\\1'"$(date +%s)"'000/' body > signed && mv signed body`]
    : [];
  const url = `${origin}/hooks/inbound/${integration_id}`;
  const headers = [
    header('content-type', content_type ?? 'application/json'),
    ...(scheme.event && event !== null ? [header(scheme.event, event)] : []),
    ...(scheme.id ? [header(scheme.id, '', '$ID')] : []),
    ...(scheme.time ? [header(scheme.time, '', '$TIME')] : []),
    signature.timePrefix
      ? header(signature.header, signature.timePrefix, `$TIME,${signature.prefix}$SIGNATURE`)
      : header(signature.header, signature.prefix, '$SIGNATURE'),
  ];
  const needsTime = template.includes('{timestamp}');
  const sign =
    algorithm === 'token'
      ? 'SIGNATURE=$SECRET'
      : `SIGNATURE=$({ ${printed(template)}; } | openssl dgst -${algorithm} ${KEYS[key]} -binary | ${ENCODERS[encoding]})`;
  const command = [
    `curl -sf -H "authorization: Bearer $ANNALS_KEY" ${quoted(`${origin}/tenant/${tenant_id}/deliveries/${id}/body`)} -o body`,
    ...times,
    `URL=${quoted(url)}${scheme.urlDigest ? `"?${scheme.urlDigest}=$(openssl dgst -sha256 -r body | cut -d ' ' -f 1)"` : ''}`,
    ...(scheme.id ? ['ID=$(openssl rand -hex 16)'] : []),
    ...(needsTime ? ['TIME=$(date +%s)'] : []),
    sign,
    `curl "$URL" ${headers.join(' ')} --data-binary @body`,
  ].join('\n');
  return { command, note: scheme.bodyTime ? NEW_TIME : scheme.id ? NEW_ID : SAME_ID };
};
