import { contentOf } from '../../domain/bodies/body-inspection.ts';
import { type PreviewField, payloadPreview } from '../../domain/deliveries/payload-preview.ts';
import type { StoredDelivery } from './delivery.ts';

/** Larger payloads have no preview, because reading them would take too long. */
const MAX_PREVIEWED_BYTES = 128 * 1_024;

/** Leaves out deliveries whose payload cannot be read now. Does not throw. */
export type ReadPreviews = (tenant: string, ids: readonly string[]) => Promise<ReadonlyMap<string, readonly PreviewField[]>>;

/** Previews the stored body, with redactions. Empty if the body is large or unreadable. */
export const deliveryPreview = ({ facts, body }: Pick<StoredDelivery, 'facts' | 'body'>): PreviewField[] =>
  body instanceof Uint8Array && body.length <= MAX_PREVIEWED_BYTES
    ? payloadPreview(facts.provider, contentOf(facts.content_type, body))
    : [];
