import { contentOf } from '../../domain/webhooks/body-inspection.ts';
import { type PreviewField, payloadPreview } from '../../domain/webhooks/payload-preview.ts';
import type { StoredDelivery } from './delivery.ts';

/** A payload that has more bytes than this has no preview, because reading it would take too long. */
const MAX_PREVIEWED_BYTES = 128 * 1_024;

/**
 * Returns the preview of the payload of each delivery of a tenant. A delivery whose payload cannot be read now is
 * missing in the result. Does not throw.
 */
export type ReadPreviews = (tenant: string, ids: readonly string[]) => Promise<ReadonlyMap<string, readonly PreviewField[]>>;

/** Returns the preview of a recorded delivery, as stored: with redactions. It is empty if the body is large or unreadable. */
export const deliveryPreview = ({ facts, body }: Pick<StoredDelivery, 'facts' | 'body'>): PreviewField[] =>
  body instanceof Uint8Array && body.length <= MAX_PREVIEWED_BYTES
    ? payloadPreview(facts.provider, contentOf(facts.content_type, body))
    : [];
