import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { blockAsReplay } from '../../commands/deliveries/evaluate-delivery.ts';
import type { NewDelivery, RecordedDelivery, RecordingPort } from '../../commands/deliveries/webhook-ports.ts';
import { isUnavailable, Refusal } from '../../domain/refusal.ts';
import { type DrainOptions, type DrainResult, startSpoolDrain } from '../spool/drain-spool.ts';
import type { Spool } from '../spool/open-spool.ts';
import type { SpooledDelivery } from '../spool/spooled-delivery.ts';
import type { SpooledShare } from '../spool/spooled-share.ts';
import { DataKeyUnreadable } from '../vault/data-key-cache.ts';
import { isRecorded, type SealChunk, writeChunks } from './body-chunks.ts';
import {
  type AppendDeps,
  type Attempt,
  appendInTime,
  createDeliveryAppends,
  type DeliveryAppends,
  isFailing,
  retryLater,
} from './delivery-appends.ts';
import type { DeliveryPreviews } from './delivery-previews.ts';
import { createRedeliveryComparison } from './redelivery-comparison.ts';
import { createSpooling, mustSpool, onStoreFailure, type Spooling, spoolDelivery } from './spooling.ts';

/** `unavailable`: the call could not be recorded, so the sender must repeat it. */
export type WebhookOutcome = 'accepted' | 'blocked' | 'duplicate' | 'rejected' | 'handshake' | 'unavailable';

/** Called once for every call. `reason` and `provider` are empty if there is none, or it is unknown. */
export type CountWebhook = (outcome: WebhookOutcome, reason: string, provider: string) => void;

/** If absent, deliveries are refused while the log cannot be reached. */
export type SpoolDeps = { readonly spool: Spool; readonly onDrained: DrainOptions['onDrained'] } | undefined;

export type RecordingDeps = AppendDeps & {
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  readonly now: () => string;
  readonly sealChunk: SealChunk;
  /** @throws Refusal unavailable */
  readonly isReplay: (...args: Parameters<RecordingPort['isReplay']>) => boolean | Promise<boolean>;
  /** Applies the rules to a delivery that was stored without them. @throws Refusal unavailable */
  readonly evaluateLate: (delivery: NewDelivery) => Promise<NewDelivery>;
  readonly previews: Pick<DeliveryPreviews, 'erasures' | 'keep'>;
  readonly count: CountWebhook;
  readonly spool?: SpoolDeps;
};

type Recording = Omit<RecordingDeps, 'spool'> & {
  readonly appends: DeliveryAppends;
  readonly redeliveries: ReturnType<typeof createRedeliveryComparison>;
  /** Null without a spool. */
  readonly spooling: Spooling | null;
};

export type DeliveryRecording = Pick<RecordingPort, 'isKnown' | 'isReplay' | 'record' | 'compareRedelivery'> & {
  readonly isFailing: () => boolean;
  readonly isBreakerOpen: () => boolean;
  readonly spooledShare: SpooledShare['share'];
  readonly close: () => Promise<void>;
};

const outcomeOf = (type: NewDelivery['type']): WebhookOutcome =>
  type === 'WebhookBlocked' || type === 'SkillWebhookBlocked' ? 'blocked' : 'accepted';

/** Everything that happens to an evaluated delivery: it is recorded exactly once, remembered and counted. @throws Refusal unavailable */
const record = async (recording: Recording, delivery: NewDelivery): Promise<RecordedDelivery> => {
  const { redeliveries, previews, count } = recording;
  const { provider, reason } = delivery.facts;
  const erasuresBefore = previews.erasures();
  try {
    const recorded = redeliveries.isKnown(delivery) ? { token: null } : await appendOrSpool(recording, delivery, randomUUID());
    if (recorded.token !== null) {
      redeliveries.remember(delivery);
      previews.keep(delivery, erasuresBefore);
    }
    if (recorded.token !== null || recorded.isSpooled) count(outcomeOf(delivery.type), reason ?? '', provider);
    else count('duplicate', '', provider);
    return recorded;
  } catch (error) {
    count('unavailable', '', provider);
    throw error;
  }
};

/**
 * A delivery that the event store does not record within half a second goes to the spool, and is recorded later with the same event id,
 * even if the first attempt succeeded after all.
 */
const appendOrSpool = async (recording: Recording, delivery: NewDelivery, eventId: string): Promise<RecordedDelivery> => {
  const { spooling } = recording;
  if (!spooling) {
    if (delivery.unevaluated) throw retryLater();
    return append(recording, delivery, { eventId, retry: true });
  }
  if (mustSpool(spooling, delivery)) return spoolDelivery(spooling, delivery, eventId);
  try {
    const recorded = await append(recording, delivery, { eventId, retry: !spooling.spool.status().canTake });
    spooling.breaker.succeeded();
    if (recorded.token !== null) spooling.share.add(false);
    return recorded;
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    onStoreFailure(spooling, error);
    return spoolDelivery(spooling, delivery, eventId);
  }
};

/**
 * Writes the chunks of a large body before the delivery's event. If the delivery was recorded before, it writes none: a redelivery with a
 * different body would leave chunks to which no event refers.
 */
const append = async ({ log, sealChunk, appends }: Recording, delivery: NewDelivery, attempt: Attempt): Promise<RecordedDelivery> => {
  if (delivery.facts.parts !== undefined) {
    if (await isRecorded(log, delivery, attempt)) return { token: null };
    await writeChunks(log, sealChunk, delivery);
  }
  return appendInTime(appends, delivery, attempt);
};

const isReplay = async (recording: Recording, ...[integration, facts]: Parameters<RecordingPort['isReplay']>): Promise<boolean | null> => {
  const { spooling } = recording;
  if (spooling && (spooling.spool.hasWaiting(integration.id) || spooling.breaker.isOpen())) return null;
  try {
    return await recording.isReplay(integration, facts);
  } catch (error) {
    if (!spooling || !isUnavailable(error)) throw error;
    onStoreFailure(spooling, error);
    return null;
  }
};

const drainResultOf = (error: unknown): DrainResult => {
  if (error instanceof DataKeyUnreadable) return 'key_unreadable';
  if (isUnavailable(error)) return 'unavailable';
  if (error instanceof Refusal && error.code === 'not_found') return 'erased';
  return { refused: error instanceof Error ? error.message : String(error) };
};

/** Records a delivery of the spool, after the checks that could not be made before it was stored. */
const recordSpooled = async (recording: Recording, spooled: SpooledDelivery): Promise<DrainResult> => {
  try {
    const { isReplayUnchecked, eventId, ...delivery } = spooled;
    const isBlocked = isReplayUnchecked && (await recording.isReplay(delivery.integration, delivery.facts));
    const evaluated = delivery.unevaluated && !isBlocked ? await recording.evaluateLate(delivery) : delivery;
    const { token } = await append(recording, isBlocked ? blockAsReplay(delivery) : evaluated, { eventId, retry: false });
    if (token !== null) return 'recorded';
    recording.redeliveries.compareLater(delivery);
    return 'known';
  } catch (error) {
    return drainResultOf(error);
  }
};

export const createDeliveryRecording = ({ spool: spoolDeps, ...deps }: RecordingDeps): DeliveryRecording => {
  const { logger } = deps;
  const appends = createDeliveryAppends(deps);
  const redeliveries = createRedeliveryComparison(deps);
  const spooling = spoolDeps ? createSpooling(spoolDeps.spool, appends, logger) : null;
  const recording: Recording = { ...deps, appends, redeliveries, spooling };
  const drain =
    spooling &&
    startSpoolDrain({ ...spoolDeps!, breaker: spooling.breaker, record: (spooled) => recordSpooled(recording, spooled), logger });
  return {
    isKnown: (integration, id) => redeliveries.isKnown({ integration, id }),
    isReplay: (integration, facts) => isReplay(recording, integration, facts),
    record: (delivery) => record(recording, delivery),
    compareRedelivery: redeliveries.compareLater,
    isFailing: () => isFailing(appends),
    isBreakerOpen: () => spooling?.breaker.isOpen() ?? false,
    spooledShare: () => spooling?.share.share() ?? 0,
    close: async () => {
      await drain?.close();
      await redeliveries.close();
    },
  };
};
