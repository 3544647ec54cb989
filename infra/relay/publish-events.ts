import type { NatsConnection } from 'nats';
import {
  inlineLimit,
  isForRunner,
  type OutgoingMessage,
  outgoingMessage,
  REPEATED,
  REQUEUED,
} from '../../commands/runners/relay.reactor.ts';
import { type DeliveryEvent, messageSource } from '../../domain/deliveries/delivery.ts';
import { isReleased } from '../../domain/deliveries/release.ts';
import type { Recorded } from '../../domain/event.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { ChainedPublisher } from '../nats/chained-publisher.ts';
import { errorReason } from '../nats/jetstream-errors.ts';
import { ContentUnreadable, type SealedEvents } from '../vault/sealed-events.ts';
import { isSessionEvent, withoutText } from '../vault/session-events.ts';
import type { IdSet } from './acknowledged-ids.ts';
import { deliveryEvents, messageOrigin, repeatedEvent } from './message-origin.ts';

export type RelayLogger = Readonly<Record<'debug' | 'info' | 'warn' | 'error', (fields: object, text: string) => void>>;

export type RelayParts = {
  readonly log: Log;
  readonly nats: NatsConnection;
  readonly logger: RelayLogger;
  readonly publicUrl: string;
  readonly openEvent: SealedEvents['openEvent'];
};

/** In bytes, for a NATS server that announces no limit. */
const DEFAULT_MAX_PAYLOAD = 1_048_576;

/**
 * Logs that an event cannot be decrypted, and returns the replacement to send. An event of a session is sent without its
 * text, because later events of the session wait for it. For any other event, and if the tenant was erased, returns null.
 * @throws any other error
 */
const replaceUnreadable = (logger: RelayLogger, event: Recorded, error: unknown): Recorded | null => {
  if (!(error instanceof ContentUnreadable)) throw error;
  if (error.reason !== 'erased' && isSessionEvent(event)) {
    logger.error({ error: error.message }, 'an event of a session is sent to its runner without its text, because it cannot be opened');
    return withoutText(event);
  }
  const level = error.reason === 'erased' ? 'info' : 'error';
  logger[level]({ error: error.message }, 'an event is not sent to its runner, because its body cannot be opened');
  return null;
};

/** An event that cannot be decrypted or encoded is logged, and skipped or sent without its text, so that later ones are published. */
export const publishEvents = (relay: RelayParts, publisher: ChainedPublisher, acknowledged: IdSet) => {
  const { log, nats, logger, publicUrl, openEvent } = relay;
  const maxBodyBytes = inlineLimit(nats.info?.max_payload ?? DEFAULT_MAX_PAYLOAD);
  const publish = (event: Recorded, carrier = event): void | Promise<void> => {
    let message: OutgoingMessage;
    try {
      message = outgoingMessage(event, publicUrl, maxBodyBytes, carrier);
    } catch (error) {
      return logger.error({ error: errorReason(error), event: event.event_id }, 'an event cannot be encoded as a message and is skipped');
    }
    return publisher.add(message);
  };
  /** Returns a promise only if `openEvent` returns one; null for an event that must not be sent. @throws LogError */
  const opened = (event: Recorded): Recorded | null | Promise<Recorded | null> => {
    try {
      const opening = openEvent(event);
      return opening instanceof Promise ? opening.catch((error: unknown) => replaceUnreadable(logger, event, error)) : opening;
    } catch (error) {
      return replaceUnreadable(logger, event, error);
    }
  };
  const publishOpened = (event: Recorded): void | Promise<void> => {
    const opening = opened(event);
    if (opening instanceof Promise) return opening.then((clear) => clear && publish(clear)) as Promise<void>;
    return opening ? publish(opening) : undefined;
  };
  const publishAgain = async (requeued: Recorded): Promise<void> => {
    const events = await deliveryEvents(log, requeued);
    const origin = await messageOrigin(relay, opened, events);
    if (!origin) return;
    await publish(isReleased(requeued) ? origin : messageSource(requeued as Recorded<DeliveryEvent>, origin, events), requeued);
  };
  /** Publishes the message of a session that the broker has lost. */
  const publishRepeated = async (repeated: Recorded): Promise<void> => {
    const origin = await repeatedEvent(log, repeated);
    const clear = origin && !acknowledged.has(origin.event_id) ? await opened(origin) : null;
    if (clear) await publish(clear, repeated);
  };
  return (event: Recorded): void | Promise<void> => {
    if (acknowledged.has(event.event_id) || !isForRunner(event)) return;
    if (event.type === REPEATED) return publishRepeated(event);
    return event.type === REQUEUED || isReleased(event) ? publishAgain(event) : publishOpened(event);
  };
};
