import { createHash } from 'node:crypto';
import type { BodyChunks } from '../../commands/webhooks/delivery.ts';
import type { NewDelivery } from '../../commands/webhooks/webhook-ports.ts';
import type { DeliveryFacts } from '../../domain/webhooks/delivery.ts';
import { chunkAt, chunkStream, type DeliveryBodyEvent } from '../../domain/webhooks/delivery-body.ts';
import { derivedId, throwAsRefusal } from '../aggregates/transact.ts';
import { withDeadline } from '../eventstore/deadline.ts';
import { type Log, LogError, type NewEvent } from '../eventstore/event-log.ts';
import { deliveryStream, toRetryLater } from './record-delivery.ts';

const CHUNK_TIMEOUT_MS = 3_000;
/**
 * The time limit for writing all chunks of a body. It leaves time to write the delivery's event after them: providers
 * wait ten seconds for the response.
 */
const BODY_TIMEOUT_MS = 6_000;

export type LargeDelivery = Pick<NewDelivery, 'integration' | 'id' | 'facts' | 'body'>;

const eventOf = (stream: string, { integration, facts, body }: LargeDelivery, index: number): NewEvent => ({
  id: derivedId(stream, index),
  type: 'DeliveryBodyPart' satisfies DeliveryBodyEvent['type'],
  data: chunkAt(body, index),
  meta: { tenant: integration.tenant_id, actor: { kind: 'system', id: integration.id }, at: facts.received_at, v: 1 },
});

/** Whether the log already contains a delivery with this id, whatever its body. @throws Refusal unavailable */
export const isRecorded = async (log: Log, delivery: Pick<LargeDelivery, 'integration' | 'id'>): Promise<boolean> =>
  (await withDeadline(CHUNK_TIMEOUT_MS, log.last(deliveryStream(delivery))).catch(toRetryLater)) !== null;

/**
 * Writes each chunk of a body exactly once, even if another process is writing the same chunks, or an earlier attempt
 * has written some of them.
 * @throws Refusal unavailable
 */
export const writeChunks = async (log: Log, delivery: LargeDelivery): Promise<void> => {
  const { integration, id, facts } = delivery;
  const { parts = 0, sha256 } = facts;
  const stream = chunkStream(integration.tenant_id, id, sha256);
  const end = performance.now() + BODY_TIMEOUT_MS;
  for (let index = 0; index < parts; ) {
    const deadline = Math.max(1, Math.min(CHUNK_TIMEOUT_MS, end - performance.now()));
    try {
      await log.append(stream, index === 0 ? 'none' : index - 1, [eventOf(stream, delivery, index)], { deadline });
      index++;
    } catch (error) {
      if (!(error instanceof LogError) || error.kind !== 'conflict') return toRetryLater(error);
      const last = await withDeadline(CHUNK_TIMEOUT_MS, log.last(stream)).catch(toRetryLater);
      if (!last || last.revision < index) throw error;
      index = last.revision + 1;
    }
  }
};

/**
 * Yields the chunks of a body. Before it yields the last chunk, it checks the size and the digest of the whole body.
 * @throws Error if a chunk is missing, or size or digest is wrong; Refusal unavailable
 */
export async function* readChunks(log: Log, tenant: string, id: string, { parts = 0, sha256, size_bytes }: DeliveryFacts): BodyChunks {
  const stream = chunkStream(tenant, id, sha256);
  const digest = createHash('sha256');
  let size = 0;
  for (let index = 0; index < parts; index++) {
    // Read each chunk separately. A read of the whole stream would buffer chunks faster than the caller consumes them.
    const [event] = await Array.fromAsync(log.read(stream, { from: index, limit: 1 })).catch(throwAsRefusal);
    if (!event) throw new Error(`chunk ${index} of ${parts} is missing in ${stream}`);
    const bytes = event.data as Uint8Array;
    digest.update(bytes);
    size += bytes.length;
    if (index === parts - 1 && (size !== size_bytes || digest.digest('hex') !== sha256))
      throw new Error(`${stream} does not hold the body that was delivered`);
    yield bytes;
  }
}
