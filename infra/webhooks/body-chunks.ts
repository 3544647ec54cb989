import { createHash } from 'node:crypto';
import type { BodyParts } from '../../commands/webhooks/delivery.ts';
import type { NewDelivery } from '../../commands/webhooks/receive-delivery.ts';
import type { DeliveryFacts } from '../../domain/webhooks/delivery.ts';
import { chunkAt, chunkStream, type DeliveryBodyEvent } from '../../domain/webhooks/delivery-body.ts';
import { derivedId, throwAsRefusal } from '../aggregates/transact.ts';
import { withDeadline } from '../eventstore/deadline.ts';
import { type Log, LogError, type NewEvent } from '../eventstore/event-log.ts';
import { streamOf, toRetryLater } from './record-delivery.ts';

/** So long the store may take for one part. */
const PART_MS = 3_000;
/** So long for all of them: the delivery itself follows, and a provider waits ten seconds. */
const PARTS_MS = 6_000;

export type LargeDelivery = Pick<NewDelivery, 'integration' | 'id' | 'facts' | 'body'>;

const eventOf = (stream: string, { integration, facts, body }: LargeDelivery, part: number): NewEvent => ({
  id: derivedId(stream, part),
  type: 'DeliveryBodyPart' satisfies DeliveryBodyEvent['type'],
  data: chunkAt(body, part),
  meta: { tenant: integration.tenant_id, actor: { kind: 'system', id: integration.id }, at: facts.received_at, v: 1 },
});

/** Whether the log holds the delivery, whatever its bytes. @throws Refusal unavailable */
export const isRecorded = async (log: Log, whole: Pick<LargeDelivery, 'integration' | 'id'>): Promise<boolean> =>
  (await withDeadline(PART_MS, log.last(streamOf(whole))).catch(toRetryLater)) !== null;

/**
 * Writes the parts of a body, each once, whoever else writes them at the same time, and whatever an earlier attempt has left of them.
 * @throws Refusal unavailable
 */
export const writeChunks = async (log: Log, whole: LargeDelivery): Promise<void> => {
  const { integration, id, facts } = whole;
  const { parts = 0, sha256 } = facts;
  const stream = chunkStream(integration.tenant_id, id, sha256);
  const end = performance.now() + PARTS_MS;
  for (let part = 0; part < parts; ) {
    const deadline = Math.max(1, Math.min(PART_MS, end - performance.now()));
    try {
      await log.append(stream, part === 0 ? 'none' : part - 1, [eventOf(stream, whole, part)], { deadline });
      part++;
    } catch (error) {
      if (!(error instanceof LogError) || error.kind !== 'conflict') return toRetryLater(error);
      const last = await withDeadline(PART_MS, log.last(stream)).catch(toRetryLater);
      if (!last || last.revision < part) throw error;
      part = last.revision + 1;
    }
  }
};

/** @throws Error where what the log holds is not what was delivered; Refusal unavailable */
export async function* readChunks(log: Log, tenant: string, id: string, { parts = 0, sha256, size_bytes }: DeliveryFacts): BodyParts {
  const stream = chunkStream(tenant, id, sha256);
  const digest = createHash('sha256');
  let size = 0;
  for (let part = 0; part < parts; part++) {
    // One at a time: a stream that is read whole runs ahead of who takes it.
    const [event] = await Array.fromAsync(log.read(stream, { from: part, limit: 1 })).catch(throwAsRefusal);
    if (!event) throw new Error(`part ${part} of ${parts} is missing in ${stream}`);
    const bytes = event.data as Uint8Array;
    digest.update(bytes);
    size += bytes.length;
    if (part === parts - 1 && (size !== size_bytes || digest.digest('hex') !== sha256))
      throw new Error(`${stream} does not hold the body that was delivered`);
    yield bytes;
  }
}
