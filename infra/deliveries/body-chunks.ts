import { createHash } from 'node:crypto';
import type { BodyChunks } from '../../commands/deliveries/delivery.ts';
import type { NewDelivery } from '../../commands/deliveries/webhook-ports.ts';
import { category, chunkAt, chunkStream, chunksId, type DeliveryBodyEvent } from '../../domain/bodies/delivery-body.ts';
import type { DeliveryFacts } from '../../domain/deliveries/delivery.ts';
import { derivedId, throwAsRefusal } from '../aggregates/transact.ts';
import { withDeadline } from '../eventstore/deadline.ts';
import { isConflict, type Log } from '../eventstore/event-log.ts';
import { associatedDataOf, type BytesEvent, type SealedEvents, withSealedData } from '../vault/sealed-events.ts';
import type { Vault } from '../vault/vault.ts';
import { type Attempt, deliveryStream, toRetryLater } from './delivery-appends.ts';
import type { SealTask } from './verification-worker.ts';

const CHUNK_TIMEOUT_MS = 3_000;
const LOOKUP_TIMEOUT_MS = 500;
/** For all chunks, in milliseconds. The event of the delivery follows, and providers wait only ten seconds. */
const BODY_TIMEOUT_MS = 6_000;

export type LargeDelivery = Pick<NewDelivery, 'integration' | 'id' | 'facts' | 'body'>;

/** @throws Refusal unavailable, not_found */
export type SealChunk = (delivery: LargeDelivery, index: number) => Promise<BytesEvent>;

export const chunkEvent = (stream: string, { integration, facts, body }: LargeDelivery, index: number): BytesEvent => ({
  id: derivedId(stream, index),
  type: 'DeliveryBodyPart' satisfies DeliveryBodyEvent['type'],
  data: chunkAt(body, index),
  meta: { tenant: integration.tenant_id, actor: { kind: 'system', id: integration.id }, at: facts.received_at, v: 1 },
});

/** Encrypts in another thread: in this one, it would block the event loop. */
export const createChunkSealer =
  (vault: Pick<Vault, 'contentKey'>, sealBytes: (task: SealTask) => Promise<Uint8Array>): SealChunk =>
  async (delivery, index) => {
    const { integration, id, facts } = delivery;
    const tenant = integration.tenant_id;
    const event = chunkEvent(chunkStream(tenant, id, facts.sha256), delivery, index);
    const { kid, key } = await Promise.resolve(vault.contentKey(tenant)).catch(toRetryLater);
    const associatedData = associatedDataOf({ tenant, category, id: chunksId(id, facts.sha256) }, event.id);
    return withSealedData(event, kid, await sealBytes({ key, associatedData, plain: event.data }));
  };

/** Compares the id, not the body. With `retry: false`, waits only half a second. @throws Refusal unavailable */
export const isRecorded = async (
  log: Log,
  delivery: Pick<LargeDelivery, 'integration' | 'id'>,
  { retry }: Pick<Attempt, 'retry'>,
): Promise<boolean> =>
  (await withDeadline(retry ? CHUNK_TIMEOUT_MS : LOOKUP_TIMEOUT_MS, log.last(deliveryStream(delivery))).catch(toRetryLater)) !== null;

/** Writes each chunk exactly once: another process, or an earlier attempt, may write the same ones. @throws Refusal unavailable */
export const writeChunks = async (log: Log, sealChunk: SealChunk, delivery: LargeDelivery): Promise<void> => {
  const { integration, id, facts } = delivery;
  const { parts = 0, sha256 } = facts;
  const stream = chunkStream(integration.tenant_id, id, sha256);
  const end = performance.now() + BODY_TIMEOUT_MS;
  for (let index = 0; index < parts; ) {
    const event = await sealChunk(delivery, index);
    const deadline = Math.max(1, Math.min(CHUNK_TIMEOUT_MS, end - performance.now()));
    try {
      await log.append(stream, index === 0 ? 'none' : index - 1, [event], { deadline });
      index++;
    } catch (error) {
      if (!isConflict(error)) return toRetryLater(error);
      const last = await withDeadline(CHUNK_TIMEOUT_MS, log.last(stream)).catch(toRetryLater);
      if (!last || last.revision < index) throw error;
      index = last.revision + 1;
    }
  }
};

/** A chunk is missing, or the chunks are not those that were delivered. */
export class BodyIncomplete extends Error {}

export type ChunkSource = { readonly log: Log; readonly vault: Pick<SealedEvents, 'openEvent'> };

/**
 * Yields the chunks of a body. Checks the size and the digest of the whole body before it yields the last chunk.
 * @throws BodyIncomplete if a chunk is missing or if the size or the digest is wrong, ContentUnreadable, Refusal unavailable
 */
export async function* readChunks({ log, vault }: ChunkSource, tenant: string, id: string, facts: DeliveryFacts): BodyChunks {
  const { parts = 0, sha256, size_bytes } = facts;
  const stream = chunkStream(tenant, id, sha256);
  const digest = createHash('sha256');
  let size = 0;
  for (let index = 0; index < parts; index++) {
    // Read chunks one by one: reading the whole stream would buffer them faster than the caller consumes them.
    const [event] = await Array.fromAsync(log.read(stream, { from: index, limit: 1 })).catch(throwAsRefusal);
    if (!event) throw new BodyIncomplete(`chunk ${index} of ${parts} is missing in ${stream}`);
    const bytes = (await vault.openEvent(event)).data as Uint8Array;
    digest.update(bytes);
    size += bytes.length;
    if (index === parts - 1 && (size !== size_bytes || digest.digest('hex') !== sha256))
      throw new BodyIncomplete(`${stream} does not hold the body that was delivered`);
    yield bytes;
  }
}
