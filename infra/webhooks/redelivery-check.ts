import { randomUUID } from 'node:crypto';
import { setImmediate as afterAnswers } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { NewDelivery } from '../../commands/webhooks/receive-delivery.ts';
import type { Recorded } from '../../domain/event.ts';
import { type DeliveryEvent, evolve, initial } from '../../domain/webhooks/delivery.ts';
import { type Log, LogError } from '../eventstore/event-log.ts';
import { createLruMap } from '../lru-map.ts';
import { streamOf } from './record-delivery.ts';

type Redelivery = Pick<NewDelivery['facts'], 'sha256' | 'size_bytes'> & {
  readonly stream: string;
  readonly tenant: string;
  readonly by: string;
};

const AT_ONCE = 4;
const MAX_WAITING = 10_000;

/** Compares redeliveries with what was recorded, after the answer, a few at a time; the first one that differs is an event. */
export const redeliveries = ({ log, logger, now }: { log: Log; logger: Pick<Logger, 'warn'>; now: () => string }) => {
  const known = createLruMap<string, string>({ capacity: 10_000 });
  const waiting: Redelivery[] = [];
  const workers = new Set<Promise<void>>();

  const compare = async ({ stream, tenant, by, sha256, size_bytes }: Redelivery): Promise<void> => {
    let delivery = initial;
    let revision = -1;
    for await (const event of log.read(stream)) {
      delivery = evolve(delivery, event as Recorded<DeliveryEvent>);
      revision = event.revision;
    }
    if (delivery.facts) known.set(stream, delivery.facts.sha256);
    if (!delivery.facts || delivery.facts.sha256 === sha256 || delivery.differed) return;
    const meta = { tenant, actor: { kind: 'system', id: by } as const, at: now(), v: 1 };
    await log.append(stream, revision, [{ id: randomUUID(), type: 'WebhookRedeliveryDiffered', data: { sha256, size_bytes }, meta }]);
  };

  const work = async (redelivery: Redelivery): Promise<void> => {
    try {
      await compare(redelivery);
    } catch (error) {
      // Somebody else wrote meanwhile: most likely the same finding.
      if (error instanceof LogError && error.kind === 'conflict') return again(redelivery);
      logger.warn({ error: (error as Error).message, stream: redelivery.stream }, 'a redelivery could not be compared');
    }
  };

  const again = (redelivery: Redelivery): void => void (waiting.length < MAX_WAITING && waiting.push(redelivery));

  const drain = async (): Promise<void> => {
    await afterAnswers();
    for (let next = waiting.shift(); next; next = waiting.shift()) await work(next);
  };

  const start = (): void => {
    const worker = drain().finally(() => workers.delete(worker));
    workers.add(worker);
  };

  return {
    /** What was just recorded: its redelivery soon needs no reading. */
    recorded: (recording: NewDelivery): void => known.set(streamOf(recording), recording.facts.sha256),
    /** The log is known to hold it: what was recorded stays, so memory may say yes for the log, and never no. */
    knows: (recording: Pick<NewDelivery, 'integration' | 'id'>): boolean => known.get(streamOf(recording)) !== undefined,
    redelivered: (recording: NewDelivery): void => {
      const stream = streamOf(recording);
      const { sha256, size_bytes } = recording.facts;
      if (known.get(stream) === sha256) return;
      again({ stream, tenant: recording.integration.tenant_id, by: recording.integration.id, sha256, size_bytes });
      if (workers.size < AT_ONCE) start();
    },
    close: async (): Promise<void> => {
      await Promise.all(workers);
    },
  };
};
