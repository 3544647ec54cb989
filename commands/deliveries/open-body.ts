import { bodyInUtf8, bodyTypeOf, impliedCharset, typeInUtf8 } from '../../domain/bodies/body-charset.ts';
import type { Media } from '../../domain/bodies/body-inspection.ts';
import { CODINGS, type Coding, codingsOf, isPacked } from '../../domain/bodies/content-coding.ts';
import { CHUNK_BYTES, receivedBody } from '../../domain/bodies/delivery-body.ts';
import { chunksOf } from '../../domain/bodies/received-body.ts';
import type { SignatureScheme } from '../../domain/integrations/conventions/signature-scheme.ts';
import type { SigningKeys, Verification } from '../../domain/integrations/signature.ts';
import { Refusal } from '../../domain/refusal.ts';
import { shownValue } from '../../domain/shown-value.ts';
import type { RejectionFault } from './delivery-rejection.ts';
import type { VerificationPort } from './webhook-ports.ts';
import type { WebhookRequest } from './webhook-request.ts';

/** The request without content codings, or why it cannot be decompressed. */
export type UnpackedRequest = { readonly request: WebhookRequest; readonly verification: Verification; readonly fault?: RejectionFault };

const CODING_HEADER = 'content-encoding';

const unpack = async (request: WebhookRequest, codings: readonly Coding[], isVerified: boolean): Promise<WebhookRequest | string> => {
  try {
    return { ...request, body: await request.unpack!(codings, isVerified) };
  } catch (error) {
    if (error instanceof Refusal && error.code === 'malformed') return error.message;
    throw error;
  }
};

const unsupportedCoding = (header: string): RejectionFault => ({
  reason: 'unsupported_encoding',
  note: `The Content-Encoding ${shownValue(header)} is not supported: send the body uncompressed, or as ${CODINGS.join(', ')}`,
});

/**
 * The signature may be of the bytes as they came, which was verified first, or of the decompressed bytes: many HTTP clients compress a body after
 * the provider has signed it.
 */
export const unpackRequest = async (
  { verify }: Pick<VerificationPort, 'verify'>,
  scheme: SignatureScheme,
  { request, verification }: UnpackedRequest,
  keys: SigningKeys,
): Promise<UnpackedRequest> => {
  const header = request.header(CODING_HEADER);
  if (header === undefined || !isPacked(header)) return { request, verification };
  if (verification.reason !== null && verification.reason !== 'signature_mismatch') return { request, verification };
  const codings = codingsOf(header);
  if (!codings) return { request, verification, fault: unsupportedCoding(header) };
  const unpacked = await unpack(request, codings, verification.ok);
  if (typeof unpacked === 'string')
    return { request, verification, fault: { reason: verification.ok ? 'body_malformed' : 'signature_mismatch', note: unpacked } };
  return { request: unpacked, verification: verification.ok ? verification : await verify(scheme, unpacked, keys) };
};

/** The body is in UTF-8. */
type Readable = { readonly request: WebhookRequest; readonly media: Media };

const withContentType = (request: WebhookRequest, contentType: string): WebhookRequest => ({
  ...request,
  header: (name) => (name === 'content-type' ? contentType : request.header(name)),
});

/** The request with its body in UTF-8, or why the body cannot be read. */
export const readableRequest = (request: WebhookRequest): Readable | RejectionFault => {
  const contentType = request.header('content-type');
  const type = bodyTypeOf(contentType);
  if ('fault' in type) return { reason: 'unsupported_media_type', note: type.fault };
  const { media } = type;
  const charset = (media === 'json' ? impliedCharset(chunksOf(request.body)[0]!) : null) ?? type.charset;
  if (charset === null) return { request, media };
  const { body } = request;
  if (!(body instanceof Uint8Array) || charset === 'utf-32')
    return {
      reason: 'unsupported_media_type',
      note: `The body is in ${shownValue(charset)}: send ${charset === 'utf-32' ? 'it' : `a body of more than ${CHUNK_BYTES} bytes`} in UTF-8`,
    };
  const decoded = bodyInUtf8(media, charset, body);
  if (!decoded)
    return { reason: 'body_malformed', note: `The bytes of the body are not valid in ${shownValue(charset)}: send it in UTF-8` };
  return { request: withContentType({ ...request, body: receivedBody(decoded) }, typeInUtf8(contentType!)), media };
};
