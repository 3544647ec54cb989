import { MAX_BODY_BYTES } from '../../domain/bodies/delivery-body.ts';
import type { Rejection, RejectionReason } from '../../domain/deliveries/rejection.ts';
import { cleanDisplayText } from '../../domain/fields.ts';
import type { SignedRequest } from '../../domain/integrations/conventions/signature-scheme.ts';
import { type DeliveryIdentity, eventName, isDeliveryId } from '../../domain/integrations/delivery-identity.ts';
import { anyHeader } from '../../domain/integrations/header-name.ts';
import { missingHeaders, type ProviderPreset } from '../../domain/integrations/provider-preset.ts';
import type { SignatureFault } from '../../domain/integrations/signature.ts';
import { signatureFormFault } from '../../domain/integrations/signature-form.ts';
import { Refusal } from '../../domain/refusal.ts';
import { type AddressedRequest, userAgentOf } from './webhook-request.ts';

/** Why a request with a body of an allowed size was rejected, for any reason but the quota. */
export type RejectionCause = Exclude<RejectionReason, 'rate_limited' | 'too_large'>;

/** `note`: what is wrong with this request, and what its sender can do. */
export type RejectionFault = { readonly reason: RejectionCause; readonly note?: string | undefined };

/** Null if the delivery id and the event name are valid. The signature was verified before. */
export const identityFault = ({ delivery, event }: DeliveryIdentity): RejectionCause | null => {
  if (!delivery) return 'delivery_id_missing';
  if (!isDeliveryId(delivery)) return 'delivery_id_malformed';
  return event && eventName(event) === null ? 'event_malformed' : null;
};

const MAX_CONTENT_TYPE_LENGTH = 255;
/** The rejections that depend on the content type, which is then recorded. */
const CONTENT_TYPE_REASONS: ReadonlySet<RejectionReason> = new Set(['unsupported_media_type', 'unsupported_encoding', 'body_malformed']);

/** `size_bytes` is the size of the body, as received or as Content-Length announced it. */
export const rejectionOf = (
  { request, integration, identity }: AddressedRequest,
  { reason, note }: Pick<RejectionFault, 'note'> & { readonly reason: RejectionReason },
  size_bytes: number,
): Omit<Rejection, 'delivery_id'> => ({
  agent_id: integration.agent_id,
  reason,
  ip: request.ip,
  user_agent: userAgentOf(request),
  provider_delivery_id: isDeliveryId(identity.delivery ?? '') ? identity.delivery! : null,
  event: eventName(identity.event),
  size_bytes,
  ...(note !== undefined && { note }),
  ...(CONTENT_TYPE_REASONS.has(reason) && contentTypeField(request)),
});

const contentTypeField = ({ header }: AddressedRequest['request']): { content_type?: string } => {
  const shown = cleanDisplayText(header('content-type') ?? '', MAX_CONTENT_TYPE_LENGTH);
  return shown === null ? {} : { content_type: shown };
};

const signatureMismatch = () => new Refusal('unauthorized', 'The signature does not match the body and the secret of this webhook');

/** The note names a header that is missing, or has another form than the provider's. */
export const signatureFault = (reason: SignatureFault, preset: ProviderPreset, request: SignedRequest): RejectionFault => {
  if (reason !== 'signature_malformed') return { reason };
  const missing = missingHeaders(preset, request);
  if (missing) return { reason, note: `The header ${anyHeader(missing)} is missing` };
  return { reason, note: signatureFormFault(preset.scheme, request) ?? undefined };
};

const refusals: Readonly<Record<RejectionCause, (preset: ProviderPreset) => Refusal>> = {
  signature_missing: (preset) =>
    new Refusal(
      'unauthorized',
      `The signature is missing: set the secret of this webhook at the provider, which then sends the header ${anyHeader(preset.scheme.headers)}`,
    ),
  signature_malformed: signatureMismatch,
  signature_mismatch: signatureMismatch,
  timestamp_out_of_range: () => new Refusal('unauthorized', 'The time at which this request was signed is too far from the present'),
  unsupported_media_type: () =>
    new Refusal('unsupported_media_type', 'The content type must be application/json or application/x-www-form-urlencoded, in UTF-8'),
  unsupported_encoding: () => new Refusal('unsupported_media_type', 'The Content-Encoding is not supported: send the body uncompressed'),
  body_malformed: () => new Refusal('malformed', 'The body is not what its headers say'),
  delivery_id_missing: (preset) =>
    new Refusal('malformed', `The header with the delivery id is missing: send ${anyHeader(preset.delivery.headers)}`),
  delivery_id_malformed: () =>
    new Refusal('malformed', 'The delivery id must be one value of at most 255 bytes without control characters'),
  event_malformed: () => new Refusal('malformed', 'The event name must be one value of at most 255 bytes without control characters'),
};

export const tooLarge = (): Refusal =>
  new Refusal('too_large', `The body must not exceed ${MAX_BODY_BYTES} bytes`, { members: { limit: MAX_BODY_BYTES } });

export const refusalOf = ({ reason, note }: RejectionFault, preset: ProviderPreset): Refusal => {
  const refusal = refusals[reason](preset);
  return note === undefined ? refusal : new Refusal(refusal.code, note, refusal.extra);
};
