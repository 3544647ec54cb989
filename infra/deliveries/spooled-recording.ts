import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { blockAsReplay } from '../../commands/deliveries/evaluate-delivery.ts';
import type { NewDelivery, RecordedDelivery, RecordingPort } from '../../commands/deliveries/webhook-ports.ts';
import type { ChunkedBody } from '../../domain/bodies/received-body.ts';
import { Refusal } from '../../domain/refusal.ts';
import { createOutageLog } from '../logging/outage-log.ts';
import { createCircuitBreaker } from '../spool/circuit-breaker.ts';
import { type DrainOptions, type DrainResult, startSpoolDrain } from '../spool/drain-spool.ts';
import type { Spool } from '../spool/open-spool.ts';
import { entryOf, type SpooledDelivery } from '../spool/spooled-delivery.ts';
import { createSpooledShare, type SpooledShare } from '../spool/spooled-share.ts';
import { DataKeyUnreadable } from '../vault/data-key-cache.ts';
import { type DeliveryRecorder, retryLater } from './record-delivery.ts';

type Deps = {
  readonly spool: Spool;
  readonly recorder: DeliveryRecorder;
  readonly isReplay: (...args: Parameters<RecordingPort['isReplay']>) => boolean | Promise<boolean>;
  /** Applies the rules to a delivery that was stored without them. @throws Refusal unavailable */
  readonly evaluateLate: (delivery: NewDelivery) => Promise<NewDelivery>;
  /** Called with each delivery of the spool whose event the log already contains. */
  readonly compareRedelivery: RecordingPort['compareRedelivery'];
  readonly onDrained: DrainOptions['onDrained'];
  readonly logger: Pick<Logger, 'warn' | 'info'>;
};

export type SpooledRecording = Pick<RecordingPort, 'record' | 'isReplay'> & {
  readonly isBreakerOpen: () => boolean;
  readonly spooledShare: SpooledShare['share'];
  readonly close: () => Promise<void>;
};

const isUnavailable = (error: unknown): boolean => error instanceof Refusal && error.code === 'unavailable';

/** Returns the message of the event store's error, which a refusal for senders does not contain. */
const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error;
  return cause instanceof Error ? cause.message : message;
};

const resultOf = (error: unknown): DrainResult => {
  if (error instanceof DataKeyUnreadable) return 'key_unreadable';
  if (isUnavailable(error)) return 'unavailable';
  if (error instanceof Refusal && error.code === 'not_found') return 'erased';
  return { refused: error instanceof Error ? error.message : String(error) };
};

const copyOf = ({ length, chunks }: ChunkedBody): ChunkedBody => ({ length, chunks: chunks.map((chunk) => chunk.slice()) });

/**
 * A delivery that the event store does not record within half a second goes to the spool, and is recorded later with the same event id,
 * even if the first attempt succeeded after all. While one is in the spool, later ones of the integration follow it, to keep their order.
 */
export const createSpooledRecording = (deps: Deps): SpooledRecording => {
  const { spool, recorder, logger, compareRedelivery, onDrained } = deps;
  const share = createSpooledShare();
  let spooledInOutage = 0;
  const outages = createOutageLog(logger, 'recording of deliveries', () => ({
    spooled_deliveries: spooledInOutage,
    waiting_deliveries: spool.status().rows,
  }));
  const breaker = createCircuitBreaker({
    onFailure: (reason) => outages.down(reason),
    onSuccess: () => {
      outages.up();
      spooledInOutage = 0;
    },
  });

  const store = async (delivery: NewDelivery, eventId: string): Promise<RecordedDelivery> => {
    // Copy a large body: its memory is reused after the answer, perhaps before the bytes are durable.
    const body = delivery.body instanceof Uint8Array ? delivery.body : copyOf(delivery.body);
    const result = await spool.put(entryOf({ ...delivery, body, eventId }));
    if (result === 'refused') throw retryLater();
    if (result === 'known') return { token: null };
    share.add(true);
    if (breaker.isOpen()) spooledInOutage++;
    return { token: null, isSpooled: true };
  };

  /**
   * Counts a failed attempt, unless it failed because of the data key of one tenant. If the spool can take deliveries,
   * the other waiting appends are given up, too, so that their deliveries are written to the spool before any delivery
   * that arrives later.
   */
  const onFailure = (error: unknown): void => {
    if (error instanceof DataKeyUnreadable) return;
    breaker.failed(reasonOf(error));
    if (spool.status().canTake) recorder.giveUpWaiting();
  };

  /** If the circuit breaker is open and deliveries wait in the spool, recording those shows whether the event store works again. */
  const mayTry = (): boolean => !breaker.isOpen() || (spool.status().rows === 0 && breaker.mayTry());

  const record = async (delivery: NewDelivery): Promise<RecordedDelivery> => {
    const eventId = randomUUID();
    const { id } = delivery.integration;
    if (delivery.isReplayUnchecked || delivery.unevaluated || spool.hasWaiting(id) || recorder.isFull() || !mayTry())
      return store(delivery, eventId);
    try {
      const recorded = await recorder.record(delivery, { eventId, retry: !spool.status().canTake });
      breaker.succeeded();
      if (recorded.token !== null) share.add(false);
      return recorded;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      onFailure(error);
      return store(delivery, eventId);
    }
  };

  const isReplay = async (...args: Parameters<RecordingPort['isReplay']>): Promise<boolean | null> => {
    if (spool.hasWaiting(args[0].id) || breaker.isOpen()) return null;
    try {
      return await deps.isReplay(...args);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      onFailure(error);
      return null;
    }
  };

  const recordSpooled = async (spooled: SpooledDelivery): Promise<DrainResult> => {
    try {
      const { isReplayUnchecked, eventId, ...delivery } = spooled;
      const isBlocked = isReplayUnchecked && (await deps.isReplay(delivery.integration, delivery.facts));
      const evaluated = delivery.unevaluated && !isBlocked ? await deps.evaluateLate(delivery) : delivery;
      const { token } = await recorder.record(isBlocked ? blockAsReplay(delivery) : evaluated, { eventId, retry: false });
      if (token !== null) return 'recorded';
      compareRedelivery(delivery);
      return 'known';
    } catch (error) {
      return resultOf(error);
    }
  };

  const drain = startSpoolDrain({ spool, breaker, record: recordSpooled, onDrained, logger });
  return { record, isReplay, isBreakerOpen: breaker.isOpen, spooledShare: share.share, close: drain.close };
};
