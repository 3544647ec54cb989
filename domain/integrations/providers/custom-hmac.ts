import { invalid } from '../../refusal.ts';
import { DEFAULT_HEADER, IntegrationOptions } from '../conventions/integration-options.ts';
import type { ProviderDefinition } from '../conventions/provider-definition.ts';
import { signs, TOLERANCE_SECONDS } from '../conventions/signature-forms.ts';
import type { SignatureScheme } from '../conventions/signature-scheme.ts';
import { checkHeader, checkPointer } from '../conventions/source-checks.ts';
import { field, header, idField, type ValueSource } from '../conventions/value-source.ts';

const count = (template: string, placeholder: string): number => template.split(`{${placeholder}}`).length - 1;

const checkMessage = ({ signed_message = '{body}', timestamp_header }: IntegrationOptions): void => {
  const pointer = '/options/signed_message';
  if (count(signed_message, 'body') !== 1) throw invalid(pointer, 'must contain {body} once');
  if (/\{(?!(?:body|timestamp)\})/.test(signed_message)) throw invalid(pointer, 'may contain {body} and {timestamp}, and no other brace');
  const isTimed = timestamp_header !== undefined;
  if (count(signed_message, 'timestamp') !== (isTimed ? 1 : 0))
    throw invalid(pointer, isTimed ? 'must contain {timestamp} once' : 'needs timestamp_header to contain {timestamp}');
};

/** @throws Refusal invalid if no request with these headers can exist */
const checkHeaders = ({ header = DEFAULT_HEADER, prefix = '', timestamp_header, event_source }: IntegrationOptions): void => {
  checkHeader('/options/header', header);
  checkHeader('/options/timestamp_header', timestamp_header);
  if (event_source !== undefined) checkPointer('/options/event_source', event_source);
  if (timestamp_header?.toLowerCase() === header.toLowerCase())
    throw invalid('/options/timestamp_header', 'must not be the header with the signature');
  if (/^ /.test(prefix))
    throw invalid('/options/prefix', 'must not begin with a blank (U+0020): HTTP removes it from the start of a header');
  if (!/^[ -~]*$/.test(prefix)) throw invalid('/options/prefix', 'must contain only ASCII characters: others cannot be sent in a header');
};

const checkOptions = (options: IntegrationOptions): void => {
  checkMessage(options);
  checkHeaders(options);
  if (options.tolerance_seconds !== undefined && options.timestamp_header === undefined)
    throw invalid('/options/tolerance_seconds', 'needs timestamp_header');
};

const escapeRegExp = (literal: string): string => literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const ENCODED = { hex: '([0-9A-Fa-f]+)', base64: '([A-Za-z0-9+/]+={0,2})' } as const;

const customScheme = (options: IntegrationOptions): SignatureScheme => {
  const { algorithm = 'sha256', header = DEFAULT_HEADER, prefix = '', encoding = 'hex', signed_message = '{body}' } = options;
  const { timestamp_header, tolerance_seconds: toleranceSeconds = TOLERANCE_SECONDS } = options;
  return {
    headers: [header.toLowerCase()],
    shape: new RegExp(`^${escapeRegExp(prefix)}${ENCODED[encoding]}$`),
    prefix,
    encoding,
    algorithm,
    key: (secret) => Buffer.from(secret, algorithm === 'ed25519' ? 'hex' : 'utf8'),
    ...(timestamp_header && { timestamp: { headers: [timestamp_header.toLowerCase()], shape: /^(\d{1,12})$/, toleranceSeconds } }),
    ...signs(signed_message),
  };
};

const sourceOf = (source: string): ValueSource => (source.startsWith('/') ? idField(source) : header(source.toLowerCase()));

export const customHmac = {
  label: 'Custom (HMAC)',
  scheme: customScheme({}),
  delivery: idField(),
  event: field(),
  forms: 'fields',
  options: Object.keys(IntegrationOptions.shape) as (keyof IntegrationOptions)[],
  checkOptions,
  withSettings: ({ delivery_id_source, options }) => ({
    scheme: customScheme(options),
    ...(delivery_id_source !== null && { delivery: sourceOf(delivery_id_source) }),
    ...(options.event_source !== undefined && { event: { ...sourceOf(options.event_source), orDigest: undefined } }),
  }),
  setup: [
    'Let the service send POST requests to the address.',
    'Let it sign as the options of the integration say, with the secret.',
    'Give each delivery an id, or Annals takes the digest of its body.',
  ],
  samples: [
    {
      id: 'digest',
      event: null,
      body: '{"id":"a-1","kind":"build.finished","status":"passed"}',
    },
    {
      id: 'digest',
      event: null,
      body: '{"id":12,"kind":"build.started"}',
    },
    {
      id: 'digest',
      event: null,
      body: '["a","list"]',
    },
  ],
} satisfies ProviderDefinition;
