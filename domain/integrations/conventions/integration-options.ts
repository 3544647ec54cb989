import { z } from 'zod';
import { displayText, integer, text } from '../../fields.ts';
import { TOLERANCE_SECONDS } from './signature-forms.ts';

const HeaderName = text(1, 64).regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header');

export const FieldSource = displayText(1, 256).regex(/^(?:\/.*|[A-Za-z0-9-]{1,64})$/, 'must be the name of a header, or a JSON pointer');

export const DEFAULT_HEADER = 'X-Signature';

/** Settings that only integrations of some providers have. */
export const IntegrationOptions = z.strictObject({
  algorithm: z
    .enum(['sha256', 'sha1', 'sha512', 'ed25519'])
    .optional()
    .meta({ description: 'How deliveries are signed: by HMAC with this hash function, or with an Ed25519 key. Default: `sha256`' }),
  header: HeaderName.optional().meta({ description: `The header with the signature. Default: \`${DEFAULT_HEADER}\`` }),
  prefix: displayText(0, 64).optional().meta({ description: 'The text before the signature in its header, such as `sha256=`' }),
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
