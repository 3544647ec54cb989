import { randomUUID } from 'node:crypto';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { NewDelivery } from '../../commands/deliveries/webhook-ports.ts';
import { type DeliveryEvent, evolve, initial } from '../../domain/deliveries/delivery.ts';
import type { Recorded } from '../../domain/event.ts';
import { isConflict, type Log } from '../eventstore/event-log.ts';
import { createCountedWarnings } from '../logging/counted-warnings.ts';
import { createLruMap } from '../lru-map.ts';
import { deliveryStream } from './delivery-appends.ts';

type Redelivery = Pick<NewDelivery['facts'], 'sha256' | 'size_bytes'> & {
  readonly stream: string;
  readonly tenant: string;
  readonly integration_id: string;
};

const MAX_WORKERS = 4;
const MAX_WAITING = 10_000;
const MAX_REMEMBERED = 10_000;

/**
 * Compares bodies of redeliveries with the recorded ones, after the response, a few at a time; the first difference is recorded as an
 * event. delivery-appends.ts recognises redeliveries; this module remembers deliveries only to send fewer requests to the log.
 */
export const createRedeliveryComparison = ({ log, logger, now }: { log: Log; logger: Pick<Logger, 'warn'>; now: () => string }) => {
  /** Maps stream names to the digests of recently recorded bodies. */
  const digests = createLruMap<string, string>({ capacity: MAX_REMEMBERED });
  const waiting: Redelivery[] = [];
  const workers = new Set<Promise<void>>();
  const warnOfSkipped = createCountedWarnings(logger, 'redeliveries could not be compared with their deliveries');

  const compare = async ({ stream, tenant, integration_id, sha256, size_bytes }: Redelivery): Promise<void> => {
    let delivery = initial;
    let revision = -1;
    for await (const event of log.read(stream)) {
      delivery = evolve(delivery, event as Recorded<DeliveryEvent>);
      revision = event.revision;
    }
    if (delivery.facts) digests.set(stream, delivery.facts.sha256);
    if (!delivery.facts || delivery.facts.sha256 === sha256 || delivery.differed) return;
    const meta = { tenant, actor: { kind: 'system', id: integration_id } as const, at: now(), v: 1 };
    await log.append(stream, revision, [{ id: randomUUID(), type: 'WebhookRedeliveryDiffered', data: { sha256, size_bytes }, meta }]);
  };

  const compareOrRequeue = async (redelivery: Redelivery): Promise<void> => {
    try {
      await compare(redelivery);
    } catch (error) {
      // Another process has appended meanwhile, most likely the same event: compare again.
      if (isConflict(error)) return enqueue(redelivery);
      warnOfSkipped(redelivery.integration_id, { error: (error as Error).message, stream: redelivery.stream });
    }
  };

  const enqueue = (redelivery: Redelivery): void => void (waiting.length < MAX_WAITING && waiting.push(redelivery));

  const drain = async (): Promise<void> => {
    await nextLoopTurn();
    for (let next = waiting.shift(); next; next = waiting.shift()) await compareOrRequeue(next);
  };

  const startWorker = (): void => {
    const worker = drain().finally(() => workers.delete(worker));
    workers.add(worker);
  };

  return {
    /** Redeliveries of a remembered delivery are compared without reading the log. */
    remember: (delivery: NewDelivery): void => digests.set(deliveryStream(delivery), delivery.facts.sha256),
    /** Once true, it stays true, because events are never removed. False only means that this process does not remember it. */
    isKnown: (delivery: Pick<NewDelivery, 'integration' | 'id'>): boolean => digests.get(deliveryStream(delivery)) !== undefined,
    /** Compares digests. Skips the comparison if the queue is full. */
    compareLater: (delivery: NewDelivery): void => {
      const stream = deliveryStream(delivery);
      const { sha256, size_bytes } = delivery.facts;
      if (digests.get(stream) === sha256) return;
      const { tenant_id: tenant, id: integration_id } = delivery.integration;
      enqueue({ stream, tenant, integration_id, sha256, size_bytes });
      if (workers.size < MAX_WORKERS) startWorker();
    },
    /** Waits until the queued comparisons have ended. */
    close: async (): Promise<void> => {
      await Promise.all(workers);
    },
  };
};
