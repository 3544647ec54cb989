import { createHash } from 'node:crypto';
import type { BodyParts } from '../../commands/webhooks/delivery.ts';
import type { Recording } from '../../commands/webhooks/receive-delivery.ts';
import type { DeliveryFacts } from '../../domain/webhooks/delivery.ts';
import { type DeliveryBodyEvent, partOf, partsStream } from '../../domain/webhooks/delivery-body.ts';
import { derivedId, mendLogError } from '../aggregates/transact.ts';
import { within } from '../eventstore/deadline.ts';
import { type Log, LogError, type NewEvent } from '../eventstore/event-log.ts';
import { busyWhereDown, streamOf } from './record-delivery.ts';

/** So long the store may take for one part. */
const PART_MS = 3_000;
/** So long for all of them: the delivery itself follows, and a provider waits ten seconds. */
const PARTS_MS = 6_000;

export type Whole = Pick<Recording, 'integration' | 'id' | 'facts' | 'body'>;

const eventOf = (stream: string, { integration, facts, body }: Whole, part: number): NewEvent => ({
  id: derivedId(stream, part),
  type: 'DeliveryBodyPart' satisfies DeliveryBodyEvent['type'],
  data: partOf(body, part),
  meta: { tenant: integration.tenant_id, actor: { kind: 'system', id: integration.id }, at: facts.received_at, v: 1 },
});

/** Whether the log holds the delivery, whatever its bytes. @throws Refusal unavailable */
export const isSeen = async (log: Log, whole: Pick<Whole, 'integration' | 'id'>): Promise<boolean> =>
  (await within(PART_MS, log.last(streamOf(whole))).catch(busyWhereDown)) !== null;

/**
 * Writes the parts of a body, each once, whoever else writes them at the same time, and whatever an earlier attempt has left of them.
 * @throws Refusal unavailable
 */
export const writeParts = async (log: Log, whole: Whole): Promise<void> => {
  const { integration, id, facts } = whole;
  const { parts = 0, sha256 } = facts;
  const stream = partsStream(integration.tenant_id, id, sha256);
  const end = performance.now() + PARTS_MS;
  for (let part = 0; part < parts; ) {
    const deadline = Math.max(1, Math.min(PART_MS, end - performance.now()));
    try {
      await log.append(stream, part === 0 ? 'none' : part - 1, [eventOf(stream, whole, part)], { deadline });
      part++;
    } catch (error) {
      if (!(error instanceof LogError) || error.kind !== 'conflict') return busyWhereDown(error);
      const last = await within(PART_MS, log.last(stream)).catch(busyWhereDown);
      if (!last || last.revision < part) throw error;
      part = last.revision + 1;
    }
  }
};

/** @throws Error where what the log holds is not what was delivered; Refusal unavailable */
export async function* readParts(log: Log, tenant: string, id: string, { parts = 0, sha256, size_bytes }: DeliveryFacts): BodyParts {
  const stream = partsStream(tenant, id, sha256);
  const digest = createHash('sha256');
  let size = 0;
  for (let part = 0; part < parts; part++) {
    // One at a time: a stream that is read whole runs ahead of who takes it.
    const [event] = await Array.fromAsync(log.read(stream, { from: part, limit: 1 })).catch(mendLogError);
    if (!event) throw new Error(`part ${part} of ${parts} is missing in ${stream}`);
    const bytes = event.data as Uint8Array;
    digest.update(bytes);
    size += bytes.length;
    if (part === parts - 1 && (size !== size_bytes || digest.digest('hex') !== sha256))
      throw new Error(`${stream} does not hold the body that was delivered`);
    yield bytes;
  }
}
