import { z } from 'zod';
import { CHUNK_BYTES } from '../../domain/bodies/delivery-body.ts';
import { DeliveryDetailRow } from './delivery.ts';
import { shownFields } from './delivery-shown.ts';

/** A delivery with what only the log contains. */
export const DeliveryDetail = DeliveryDetailRow.extend({
  ...shownFields,
  traceparent: z
    .string()
    .nullable()
    .meta({
      description: 'The trace context (W3C) that the sender sent; the runner gets it, too. Null without one',
      examples: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
    }),
  payload: z.unknown().meta({
    examples: [{ zen: 'Keep it logically awesome.' }],
    description: `The delivered JSON, or a string if the body is not JSON. Null if no body was stored, or if \`payload_missing\` says why`,
  }),
  payload_missing: z
    .enum(['too_large', 'erased', 'damaged', 'key_unavailable'])
    .nullable()
    .meta({
      examples: [null],
      description: `Why the payload is not shown: \`too_large\`: it has more than ${CHUNK_BYTES} bytes, \`/body\` returns it; \`erased\`: its key was destroyed; \`damaged\`: the stored bytes were changed; \`key_unavailable\`: the tenant's data key cannot be read`,
    }),
}).meta({ id: 'DeliveryDetail' });
