import type { Logger } from 'pino';
import type { NewDelivery, RecordedDelivery } from '../../commands/deliveries/webhook-ports.ts';
import type { ChunkedBody } from '../../domain/bodies/received-body.ts';
import { createOutageLog } from '../logging/outage-log.ts';
import { type CircuitBreaker, createCircuitBreaker } from '../spool/circuit-breaker.ts';
import type { Spool } from '../spool/open-spool.ts';
import { entryOf } from '../spool/spooled-delivery.ts';
import { createSpooledShare, type SpooledShare } from '../spool/spooled-share.ts';
import { DataKeyUnreadable } from '../vault/data-key-cache.ts';
import { type DeliveryAppends, giveUpWaiting, isFull, retryLater } from './delivery-appends.ts';

/** Decides which deliveries go into the spool. `spooledInOutage`: how many did since the circuit breaker opened. */
export type Spooling = {
  readonly spool: Spool;
  readonly breaker: CircuitBreaker;
  readonly share: SpooledShare;
  readonly appends: DeliveryAppends;
  spooledInOutage: number;
};

export const createSpooling = (spool: Spool, appends: DeliveryAppends, logger: Pick<Logger, 'warn' | 'info'>): Spooling => {
  const outages = createOutageLog(logger, 'recording of deliveries', () => ({
    spooled_deliveries: spooling.spooledInOutage,
    waiting_deliveries: spool.status().rows,
  }));
  const breaker = createCircuitBreaker({
    onFailure: (reason) => outages.down(reason),
    onSuccess: () => {
      outages.up();
      spooling.spooledInOutage = 0;
    },
  });
  const spooling: Spooling = { spool, breaker, share: createSpooledShare(), appends, spooledInOutage: 0 };
  return spooling;
};

/** If the circuit breaker is open and deliveries wait in the spool, recording those shows whether the event store works again. */
const mayAppend = ({ spool, breaker }: Spooling): boolean => !breaker.isOpen() || (spool.status().rows === 0 && breaker.mayTry());

/** While one delivery is in the spool, later ones of the integration follow it, to keep their order. */
export const mustSpool = (spooling: Spooling, { integration, isReplayUnchecked, unevaluated }: NewDelivery): boolean =>
  isReplayUnchecked !== undefined ||
  unevaluated !== undefined ||
  spooling.spool.hasWaiting(integration.id) ||
  isFull(spooling.appends) ||
  !mayAppend(spooling);

const copyOf = ({ length, chunks }: ChunkedBody): ChunkedBody => ({ length, chunks: chunks.map((chunk) => chunk.slice()) });

/** Returns when the delivery is durable. It is recorded later, with this event id. @throws Refusal unavailable */
export const spoolDelivery = async (spooling: Spooling, delivery: NewDelivery, eventId: string): Promise<RecordedDelivery> => {
  // Copy a large body: its memory is reused after the answer, perhaps before the bytes are durable.
  const body = delivery.body instanceof Uint8Array ? delivery.body : copyOf(delivery.body);
  const result = await spooling.spool.put(entryOf({ ...delivery, body, eventId }));
  if (result === 'refused') throw retryLater();
  if (result === 'known') return { token: null };
  spooling.share.add(true);
  if (spooling.breaker.isOpen()) spooling.spooledInOutage++;
  return { token: null, isSpooled: true };
};

/** Returns the message of the event store's error, which a refusal for senders does not contain. */
const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message : message;
};

/**
 * Counts a failed attempt, unless it failed because of the data key of one tenant. If the spool can take deliveries,
 * the other waiting appends are given up, too, so that their deliveries are written to the spool before any delivery
 * that arrives later.
 */
export const onStoreFailure = ({ spool, breaker, appends }: Spooling, error: unknown): void => {
  if (error instanceof DataKeyUnreadable) return;
  breaker.failed(reasonOf(error));
  if (spool.status().canTake) giveUpWaiting(appends);
};
