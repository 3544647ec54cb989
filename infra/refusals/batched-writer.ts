import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { type DomainEvent, type Metadata, streamName } from '../../domain/event.ts';
import { type Log, LogError, type NewEvent } from '../eventstore/event-log.ts';
import type { Tally, TimedEvent } from './capped-counter.ts';

const FLUSH_MS = 1_000;
const ATTEMPTS = 5;

export type BatchDeps = { readonly log: Log; readonly logger: Pick<Logger, 'warn'>; readonly now: () => string };

/** Where refusals are noted: a stream of its own, written behind the answers. */
type Stream<T, E> = { readonly id: string; readonly tenant: string; readonly tally: Tally<T, E> };

export type Batched<T, E extends DomainEvent> = {
  readonly category: string;
  readonly tally: () => Tally<T, E>;
  readonly meta: (id: string, event: E) => Pick<Metadata, 'actor' | 'ip' | 'userAgent'>;
  /** What is kept in the log of an event. */
  readonly stored?: (event: E) => DomainEvent;
};

/** Records refusals in batches, after the answers: whoever is refused buys no write of their own. */
export const batchedWriter = <T, E extends DomainEvent>(
  { log, logger, now }: BatchDeps,
  { category, tally, meta, stored = (event) => event }: Batched<T, E>,
) => {
  const streams = new Map<string, Stream<T, E>>();
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();

  const eventOf = (id: string, tenant: string, { event, at }: TimedEvent<E>): NewEvent => {
    const { type, data } = stored(event);
    return { id: randomUUID(), type, data, meta: { tenant, at, v: 1, ...meta(id, event) } };
  };

  const record = async ({ id, tenant, tally: { take, giveBack } }: Stream<T, E>, last: boolean): Promise<void> => {
    const noted = take(now(), last);
    if (noted.length === 0) return;
    const events = noted.map((entry) => eventOf(id, tenant, entry));
    try {
      await appended(log, streamName(category, tenant, id), events);
    } catch (error) {
      giveBack(noted);
      logger.warn({ error: (error as Error).message, [category]: id, count: noted.length }, 'refusals could not be recorded yet');
    }
  };

  const flush = async (last: boolean): Promise<void> => {
    for (const [key, stream] of [...streams]) {
      await record(stream, last);
      if (stream.tally.idle(now())) streams.delete(key);
    }
  };

  const schedule = (): void => {
    timer ??= setTimeout(() => {
      flushing = flush(false).then(() => {
        timer = undefined;
        if (streams.size > 0) schedule();
      });
    }, FLUSH_MS).unref();
  };

  return {
    note: (tenant: string, id: string, refused: T, at: string): void => {
      const key = `${tenant}.${id}`;
      const stream = streams.get(key) ?? { id, tenant, tally: tally() };
      streams.set(key, stream);
      stream.tally.note(refused, at);
      schedule();
    },
    /** Records what is left, the minute that still runs included. */
    close: async (): Promise<void> => {
      await flushing;
      clearTimeout(timer);
      await flush(true);
    },
  };
};

/** Behind whatever stands there: other processes refuse too. */
const appended = async (log: Log, stream: string, events: readonly NewEvent[]): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    const last = await log.last(stream);
    try {
      return void (await log.append(stream, last?.revision ?? 'none', events));
    } catch (error) {
      if (!(error instanceof LogError) || error.kind !== 'conflict' || attempt === ATTEMPTS) throw error;
    }
  }
};
