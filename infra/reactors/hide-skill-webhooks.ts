import type { Logger } from 'pino';
import {
  type HidingEvent,
  type HidingPorts,
  hideSkillWebhook,
  hidingEventTypes,
} from '../../commands/webhooks/hide-skill-webhooks.reactor.ts';
import { PLATFORM, type Position, parseToken, type Recorded, streamName } from '../../domain/event.ts';
import * as Publication from '../../domain/runners/publication.ts';
import * as SkillWebhook from '../../domain/webhooks/skill-webhook.ts';
import { openAggregateCache } from '../aggregates/aggregate-cache.ts';
import { createTransact } from '../aggregates/transact.ts';
import { createBackoff } from '../backoff.ts';
import type { Log, Subscription } from '../eventstore/event-log.ts';

const RETRY = { minMs: 500, maxMs: 10_000, jitter: 0.2 };
/**
 * How many records of published messages the reactor goes back when it starts. Each stands for at least two seconds, so
 * the reactor reads again what another process may have left undone when it ended.
 */
const RECORDS_BACK = 100;

export type HidingReactorParts = { readonly log: Log; readonly logger: Pick<Logger, 'warn' | 'debug'> };

/**
 * Returns the position from which the reactor starts: one that the reactors of a process have passed long ago.
 * Undefined (the start of the log) if nothing was ever published.
 */
const startPosition = async (log: Log): Promise<Position | undefined> => {
  const stream = streamName(Publication.category, PLATFORM, Publication.STREAM_ID);
  const last = await log.last(stream);
  if (!last) return undefined;
  const [record] = await Array.fromAsync(log.read(stream, { from: Math.max(0, last.revision - RECORDS_BACK), limit: 1 }));
  return parseToken((record as Recorded<Publication.PublicationEvent>).data.through) ?? undefined;
};

/** Creates what the reactor needs. Without a subscription, every state is read from the log. */
const hidingPorts = (log: Log): HidingPorts => {
  const cache = openAggregateCache(log, []);
  const transact = createTransact(log, cache);
  return {
    load: cache.refresh,
    transact: (id, decide, { seed, ...meta }) =>
      transact({ aggregate: SkillWebhook, tenant: PLATFORM, id, decide, meta: { ...meta, v: 1 }, seed }),
  };
};

/**
 * Hides the webhooks of skills that are deleted, or taken from their agent. Their calls are refused in any case: this
 * only lets the skill show it. Any number of processes can run this reactor.
 */
export const startSkillWebhookHider = ({ log, logger }: HidingReactorParts): { close: () => Promise<void> } => {
  const closing = new AbortController();
  const { signal } = closing;
  const ports = hidingPorts(log);
  const retry = createBackoff(RETRY);
  let subscription: Subscription | undefined;

  const until = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    while (!signal.aborted) {
      try {
        const done = await work();
        retry.reset();
        return done;
      } catch (error) {
        logger.debug({ error: (error as Error).message }, 'skill webhooks cannot be hidden now; trying again');
        await retry.wait(signal);
      }
    }
    return undefined;
  };

  const run = async (): Promise<void> => {
    const start = await until(async () => ({ position: await startPosition(log) }));
    if (!start) return;
    subscription = log.follow({
      from: start.position,
      filter: { eventTypes: hidingEventTypes },
      event: async (event) => void (await until(() => hideSkillWebhook(ports, event as HidingEvent, new Date().toISOString()))),
    });
    const failure = await subscription.failure;
    if (failure && !signal.aborted)
      logger.warn({ error: failure.message }, 'webhooks of deleted and revoked skills are not hidden any more');
  };

  const running = run();
  return {
    close: async () => {
      closing.abort();
      await subscription?.stop();
      await running;
    },
  };
};
