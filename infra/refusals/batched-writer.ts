import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type DomainEvent, type Metadata, streamName } from '../../domain/event.ts';
import { isConflict, type Log, type NewEvent } from '../eventstore/event-log.ts';
import type { CappedCounter, TimedEvent } from './capped-counter.ts';

const FLUSH_DELAY_MS = 1_000;
const MAX_ATTEMPTS = 5;

export type BatchDeps = { readonly log: Log; readonly logger: Pick<Logger, 'warn'>; readonly now: () => string };

type PendingStream<T, E> = { readonly id: string; readonly tenant: string; readonly counter: CappedCounter<T, E> };

export type BatchOptions<T, E extends DomainEvent> = {
  readonly category: string;
  readonly createCounter: () => CappedCounter<T, E>;
  readonly meta: (id: string, event: E) => Pick<Metadata, 'actor' | 'ip' | 'userAgent'>;
  /** By default, the whole event. */
  readonly toStored?: (event: E) => DomainEvent;
};

/** Records after the responses, so that a flood of refused requests does not cause one append each. */
export const batchedWriter = <T, E extends DomainEvent>(
  { log, logger, now }: BatchDeps,
  { category, createCounter, meta, toStored = (event) => event }: BatchOptions<T, E>,
) => {
  const streams = new Map<string, PendingStream<T, E>>();
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();

  const eventOf = (id: string, tenant: string, { event, at }: TimedEvent<E>): NewEvent => {
    const { type, data } = toStored(event);
    return { id: randomUUID(), type, data, meta: { tenant, at, v: 1, ...meta(id, event) } };
  };

  /** `isLast`: there will be no later attempt, so the refusals of the current minute are recorded, too. */
  const write = async ({ id, tenant, counter }: PendingStream<T, E>, isLast: boolean): Promise<void> => {
    for (let counts = counter.take(now(), isLast); counts.length > 0; counts = counter.take(now(), isLast)) {
      const events = counts.map((entry) => eventOf(id, tenant, entry));
      try {
        await appendAtEnd(log, streamName(category, tenant, id), events);
      } catch (error) {
        const fields = { error: (error as Error).message, [category]: id, count: counts.length };
        if (isLast) return logger.warn({ ...fields, lost: counts.length }, 'refusals could not be recorded and are lost: the process ends');
        const lost = counter.putBack(counts);
        return logger.warn(
          { ...fields, lost },
          lost === 0
            ? 'refusals could not be recorded; they stay in memory until the next attempt'
            : 'refusals could not be recorded; the oldest stay in memory until the next attempt, the others are lost',
        );
      }
    }
  };

  const flush = async (isLast: boolean): Promise<void> => {
    for (const [key, stream] of [...streams]) {
      await write(stream, isLast);
      if (stream.counter.isIdle(now())) streams.delete(key);
    }
  };

  const schedule = (): void => {
    timer ??= setTimeout(() => {
      flushing = flush(false).then(() => {
        timer = undefined;
        if (streams.size > 0) schedule();
      });
    }, FLUSH_DELAY_MS).unref();
  };

  return {
    /** `id` is that of the tenant's stream. */
    add: (tenant: string, id: string, refused: T, at: string): void => {
      const key = `${tenant}.${id}`;
      const stream = streams.get(key) ?? { id, tenant, counter: createCounter() };
      streams.set(key, stream);
      stream.counter.add(refused, at);
      schedule();
    },
    /** Records also the refusals of the current minute. Those that cannot be recorded are lost; their number is logged. */
    close: async (): Promise<void> => {
      await flushing;
      clearTimeout(timer);
      await flush(true);
    },
  };
};

/** Retries on a conflict, because other processes also write to the stream. */
const appendAtEnd = async (log: Log, stream: string, events: readonly NewEvent[]): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    const last = await log.last(stream);
    try {
      return void (await log.append(stream, last?.revision ?? 'none', events));
    } catch (error) {
      if (!isConflict(error) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
};
