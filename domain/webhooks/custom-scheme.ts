import { z } from 'zod';
import { displayText, integer, text } from '../fields.ts';
import { invalid } from '../refusal.ts';
import type { Provider } from './provider.ts';
import type { SignatureScheme } from './signature.ts';
import { STANDARD_WEBHOOKS, STANDARD_WEBHOOKS_ED25519, signatureSchemes, TOLERANCE_SECONDS } from './signature-schemes.ts';
import { signedMessage } from './signed-message.ts';

export const HeaderName = text(1, 64).regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header');

/** A schema for a header name, or a JSON pointer to a field of the body. */
export const FieldSource = displayText(1, 256).regex(/^(?:\/.*|[A-Za-z0-9-]{1,64})$/, 'must be the name of a header, or a JSON pointer');

/** A schema for the settings that only integrations of some providers have. */
export const IntegrationOptions = z.strictObject({
  algorithm: z
    .enum(['sha256', 'sha1', 'sha512', 'ed25519'])
    .optional()
    .meta({ description: 'How deliveries are signed: by HMAC with this hash function, or with an Ed25519 key. Default: `sha256`' }),
  header: HeaderName.optional().meta({ description: 'The header with the signature. Default: `X-Signature`' }),
  prefix: displayText(0, 64).optional().meta({ description: 'What stands before the signature in its header, such as `sha256=`' }),
  encoding: z.enum(['hex', 'base64']).optional().meta({ description: 'How the signature is encoded. Default: `hex`' }),
  signed_message: text(1, 256)
    .regex(/^[\x20-\x7e\t\r\n]*$/, 'must contain only printable ASCII characters, tabs and line ends')
    .optional()
    .meta({
      description: 'What is signed, with `{body}` and, if there is a timestamp header, `{timestamp}`. Default: `{body}`',
      examples: ['{timestamp}.{body}'],
    }),
  timestamp_header: HeaderName.optional().meta({ description: 'The header with the Unix time in seconds that is signed, too' }),
  tolerance_seconds: integer(1, 3_600)
    .optional()
    .meta({ description: `How far that time may be from the platform's. Default: ${TOLERANCE_SECONDS}` }),
  event_source: FieldSource.optional().meta({
    description: 'Where the name of the event is: a header, or a JSON pointer to a field of the body',
    examples: ['/type'],
  }),
});
export type IntegrationOptions = z.output<typeof IntegrationOptions>;

const OPTIONS_OF: Partial<Record<Provider, readonly string[]>> = {
  custom_hmac: Object.keys(IntegrationOptions.shape),
  standard_webhooks: ['algorithm'],
};

const count = (template: string, field: string): number => template.split(`{${field}}`).length - 1;

const checkMessage = ({ signed_message = '{body}', timestamp_header }: IntegrationOptions): void => {
  const pointer = '/options/signed_message';
  if (count(signed_message, 'body') !== 1) throw invalid(pointer, 'must contain {body} once');
  if (/\{(?!(?:body|timestamp)\})/.test(signed_message)) throw invalid(pointer, 'may contain {body} and {timestamp}, and no other brace');
  const isTimed = timestamp_header !== undefined;
  if (count(signed_message, 'timestamp') !== (isTimed ? 1 : 0))
    throw invalid(pointer, isTimed ? 'must contain {timestamp} once' : 'needs timestamp_header to contain {timestamp}');
};

/**
 * Matches the names of headers that say how the request itself is sent. They never have a signature, a time or an id of
 * a provider.
 */
const RESERVED =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|content-(?:length|type|encoding)|expect|date|accept.*|user-agent|proxy-.*|set-cookie|cookie)$/i;

const checkHeader = (pointer: string, name: string | undefined): void => {
  if (name !== undefined && RESERVED.test(name)) throw invalid(pointer, `cannot be ${name}: this header says how the request is sent`);
};

const checkPointer = (pointer: string, source: string): void => {
  if (/^\/.*~(?![01])/.test(source)) throw invalid(pointer, 'must be a JSON pointer, in which ~0 stands for ~ and ~1 for /');
};

/** Checks where a delivery id is: in a header that senders can set, or a JSON pointer. @throws Refusal invalid if not */
export const checkIdSource = (pointer: string, source: string): void => {
  checkHeader(pointer, source);
  checkPointer(pointer, source);
};

/** Checks that requests with these headers can exist. @throws Refusal invalid if not */
const checkHeaders = ({ header = 'X-Signature', prefix = '', timestamp_header, event_source }: IntegrationOptions): void => {
  checkHeader('/options/header', header);
  checkHeader('/options/timestamp_header', timestamp_header);
  if (event_source !== undefined) checkPointer('/options/event_source', event_source);
  if (timestamp_header?.toLowerCase() === header.toLowerCase())
    throw invalid('/options/timestamp_header', 'must not be the header with the signature');
  if (/^ /.test(prefix))
    throw invalid('/options/prefix', 'must not begin with a blank (U+0020): HTTP removes it from the start of a header');
  if (!/^[ -~]*$/.test(prefix)) throw invalid('/options/prefix', 'must contain only ASCII characters: others cannot be sent in a header');
};

/** Checks that the provider has these options, and that they can be combined. @throws Refusal invalid if not */
export const checkOptions = (provider: Provider, options: IntegrationOptions): void => {
  const allowed = OPTIONS_OF[provider] ?? [];
  for (const name of Object.keys(options))
    if (!allowed.includes(name)) throw invalid(`/options/${name}`, `is not an option of ${provider}`, 'unrecognized_keys');
  if (provider === 'standard_webhooks' && !['sha256', 'ed25519', undefined].includes(options.algorithm))
    throw invalid('/options/algorithm', 'must be sha256 or ed25519');
  if (provider === 'custom_hmac') checkMessage(options);
  if (provider === 'custom_hmac') checkHeaders(options);
  if (options.tolerance_seconds !== undefined && options.timestamp_header === undefined)
    throw invalid('/options/tolerance_seconds', 'needs timestamp_header');
};

const escapeRegExp = (literal: string): string => literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const ENCODED = { hex: '([0-9A-Fa-f]+)', base64: '([A-Za-z0-9+/]+={0,2})' } as const;

const customScheme = (options: IntegrationOptions): SignatureScheme => {
  const { algorithm = 'sha256', header = 'X-Signature', prefix = '', encoding = 'hex', signed_message = '{body}' } = options;
  const { timestamp_header, tolerance_seconds: toleranceSeconds = TOLERANCE_SECONDS } = options;
  return {
    headers: [header.toLowerCase()],
    shape: new RegExp(`^${escapeRegExp(prefix)}${ENCODED[encoding]}$`),
    prefix,
    encoding,
    algorithm,
    key: (secret) => Buffer.from(secret, algorithm === 'ed25519' ? 'hex' : 'utf8'),
    ...(timestamp_header && { timestamp: { headers: [timestamp_header.toLowerCase()], shape: /^(\d{1,12})$/, toleranceSeconds } }),
    message: signedMessage(signed_message),
  };
};

/** Returns how the deliveries of an integration are signed. */
export const schemeOf = (provider: Provider, options: IntegrationOptions): SignatureScheme => {
  if (provider === 'custom_hmac') return customScheme(options);
  if (provider === 'standard_webhooks') return options.algorithm === 'ed25519' ? STANDARD_WEBHOOKS_ED25519 : STANDARD_WEBHOOKS;
  return signatureSchemes[provider];
};
