import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { AggregateReader } from '../../commands/context.ts';
import { createDeliveryEligibility } from '../../commands/deliveries/delivery-eligibility.ts';
import { evaluateLate } from '../../commands/deliveries/evaluate-delivery.ts';
import type {
  EligibilityPort,
  GuardrailPort,
  NewDelivery,
  RecordedDelivery,
  RecordingPort,
  VerificationPort,
  WebhookPorts,
} from '../../commands/deliveries/webhook-ports.ts';
import { inspectBody } from '../../domain/bodies/body-inspection.ts';
import { PLATFORM } from '../../domain/event.ts';
import { rejectedVerification, signatureClaim, verificationOf, verifySignature } from '../../domain/integrations/signature.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { RateLimiter } from '../ratelimit/limiter.ts';
import { createSlidingWindows, type SlidingWindows } from '../ratelimit/sliding-windows.ts';
import { rejectionWriter } from '../refusals/webhook-rejections.ts';
import type { DrainOptions } from '../spool/drain-spool.ts';
import type { Spool } from '../spool/open-spool.ts';
import type { Vault } from '../vault/vault.ts';
import { createChunkSealer, isRecorded, type SealChunk, writeChunks } from './body-chunks.ts';
import { createBodyMemory } from './body-memory.ts';
import { guardrailPort } from './guardrail-port.ts';
import {
  type Attempt,
  createDeliveryRecorder,
  type DeliveryRecorder,
  type RecorderDeps,
  retryLater,
  withTimeout,
} from './record-delivery.ts';
import { createRedeliveryComparison } from './redelivery-comparison.ts';
import { createReplayGuard } from './replay-guard.ts';
import { createSigningKeys } from './signing-keys.ts';
import { createSpooledRecording, type SpooledRecording } from './spooled-recording.ts';
import { unpackedBody } from './unpack-body.ts';
import { openVerificationClient } from './verification-client.ts';

export type WebhookDeps = {
  readonly log: Log;
  readonly vault: Pick<Vault, 'open' | 'uniqueId' | 'contentKey' | 'sealEvent' | 'onErased'>;
  readonly cache: AggregateReader;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  /** If absent, no quota is enforced. */
  readonly limits?: Pick<RateLimiter, 'chargeDelivery'> | undefined;
  /** Counts deliveries for guardrails. If absent, this process counts only its own. */
  readonly windows?: SlidingWindows;
  readonly hasHeld: GuardrailPort['hasHeld'];
  readonly now?: () => string;
  /** If absent, deliveries are refused while the log cannot be reached. */
  readonly spool?: { readonly spool: Spool; readonly onDrained: DrainOptions['onDrained'] } | undefined;
};

type Deps = WebhookDeps & { readonly now: () => string };
type RunTask = ReturnType<typeof openVerificationClient>['run'];
type RecordingState = Pick<DeliveryRecorder, 'isFailing'> & Pick<SpooledRecording, 'isBreakerOpen' | 'spooledShare'>;
type Closable = { readonly close: () => Promise<void> };
/** Loads what is needed to receive a delivery. @throws Refusal unavailable */
type Preparation = { readonly prepare: (integration_id: string) => Promise<void> };

const clock = (): string => new Date().toISOString();

/** Connects to the log, the vault and the other services. `close` finishes pending work and records pending rejections. */
export const webhookPorts = ({ now = clock, ...rest }: WebhookDeps): WebhookPorts & RecordingState & Preparation & Closable => {
  const deps = { now, ...rest };
  const worker = openVerificationClient(deps.logger);
  const { close: closeGuardrails, ...guardrails } = guardrailPort({ windows: createSlidingWindows(), ...deps });
  const { quotaOf, ...eligibility } = eligibilityPort(deps);
  const evaluate = (delivery: NewDelivery) => evaluateLate({ eligibility, guardrails }, delivery);
  const { close: closeRecording, isFailing, isBreakerOpen, spooledShare, ...recording } = recordingPort(deps, worker.run, evaluate);
  const verification = verificationPort(deps, worker.run);
  return {
    eligibility,
    verification,
    recording,
    guardrails,
    prepare: async (id) => {
      const integration = await eligibility.integration(id);
      if (!integration) return;
      const { tenant_id, agent_id } = integration;
      await Promise.all([
        verification.signingKeys(integration, now()),
        eligibility.isAgentActive(tenant_id, agent_id),
        guardrails.ruleSet(integration),
        guardrails.slackConfig(tenant_id, agent_id),
        quotaOf(tenant_id),
      ]);
    },
    now,
    isFailing,
    isBreakerOpen,
    spooledShare,
    close: async () => {
      await closeGuardrails();
      await closeRecording();
      await worker.close();
    },
  };
};

const eligibilityPort = ({ cache, vault, limits, now }: Deps) => {
  const { integration, isAgentActive, quotaOf } = createDeliveryEligibility({
    cache,
    uniqueId: (kind, key, generation, tenant = PLATFORM) => vault.uniqueId(kind, tenant, key, generation),
  });
  return {
    quotaOf: (tenant) => withTimeout(quotaOf(tenant)),
    integration: (id) => withTimeout(integration(id)),
    isAgentActive: (tenant, agent_id) => withTimeout(isAgentActive(tenant, agent_id)),
    enforceQuota: (tenant, reportRateLimit) => {
      if (!limits) return;
      const charge = (quota: number) => limits.chargeDelivery(tenant, quota, Date.parse(now()), reportRateLimit);
      const quota = withTimeout(quotaOf(tenant));
      return quota instanceof Promise ? quota.then(charge) : charge(quota);
    },
  } satisfies EligibilityPort & { quotaOf: (tenant: string) => number | Promise<number> };
};

/** Verifies small bodies in this thread, large ones in a worker thread. */
const verificationPort = ({ vault }: Deps, run: RunTask): VerificationPort => {
  const signingKeys = createSigningKeys(vault);
  return {
    signingKeys: (integration, at) => withTimeout(signingKeys(integration, at)),
    verify: (scheme, request, keys) => {
      if (request.body instanceof Uint8Array) return verifySignature(scheme, request, keys);
      const claim = signatureClaim(scheme, request, keys);
      if (typeof claim === 'string') return rejectedVerification(claim);
      return run('matchSecret', claim).then((matched) => verificationOf(keys, matched));
    },
    inspectBody: (question, body) => (body instanceof Uint8Array ? inspectBody(question, body) : run('inspectBody', { question, body })),
    unpackedBody,
    bodyMemory: createBodyMemory(),
  };
};

/** Creates the recording of deliveries without a spool. While the log cannot be reached, deliveries are refused. */
const directRecording = (recorder: DeliveryRecorder, isReplay: ReturnType<typeof createReplayGuard>): SpooledRecording => ({
  record: async (delivery) => {
    if (delivery.unevaluated) throw retryLater();
    return recorder.record(delivery, { eventId: randomUUID(), retry: true });
  },
  isReplay,
  isBreakerOpen: () => false,
  spooledShare: () => 0,
  close: async () => {},
});

type Recording = RecordingPort & RecordingState & Closable;

const recordingPort = (
  { log, vault, logger, now, spool }: Deps,
  run: RunTask,
  evaluateLate: (delivery: NewDelivery) => Promise<NewDelivery>,
): Recording => {
  const sealChunk = createChunkSealer(vault, (task) => run('sealBytes', task));
  const recorder = recordingWithChunks({ log, vault }, sealChunk);
  const redeliveries = createRedeliveryComparison({ log, logger, now });
  const rejections = rejectionWriter({ log, logger, now });
  const replayGuard = createReplayGuard({ log, vault });
  const isReplay = async (...args: Parameters<typeof replayGuard>) => withTimeout(replayGuard(...args));
  const compareRedelivery = redeliveries.compareLater;
  const { record, ...recording } = spool
    ? createSpooledRecording({ ...spool, recorder, isReplay, evaluateLate, compareRedelivery, logger })
    : directRecording(recorder, isReplay);
  return {
    deliveryId: ({ id, tenant_id }, delivery) => vault.uniqueId('delivery', tenant_id, `${id}\0${delivery}`),
    isKnown: (integration, id) => redeliveries.isKnown({ integration, id }),
    isReplay: recording.isReplay,
    record: async (delivery) => {
      if (redeliveries.isKnown(delivery)) return { token: null };
      const recorded = await record(delivery);
      if (recorded.token !== null) redeliveries.remember(delivery);
      return recorded;
    },
    compareRedelivery,
    answerHandshake: () => {},
    recordRejection: rejections.record,
    isFailing: recorder.isFailing,
    isBreakerOpen: recording.isBreakerOpen,
    spooledShare: recording.spooledShare,
    close: async () => {
      await recording.close();
      await redeliveries.close();
      await rejections.close();
    },
  };
};

/**
 * Creates the recorder of deliveries. It writes the chunks of a large body before the delivery's event. If the delivery
 * was recorded before, it writes no chunks: a redelivery with a different body would leave chunks to which no event
 * refers.
 */
const recordingWithChunks = (deps: RecorderDeps, sealChunk: SealChunk): DeliveryRecorder => {
  const { record, ...recorder } = createDeliveryRecorder(deps);
  const recordLarge = async (delivery: NewDelivery, attempt: Attempt): Promise<RecordedDelivery> => {
    if (await isRecorded(deps.log, delivery, attempt)) return { token: null };
    await writeChunks(deps.log, sealChunk, delivery);
    return record(delivery, attempt);
  };
  return {
    ...recorder,
    record: (delivery, attempt) => (delivery.facts.parts === undefined ? record(delivery, attempt) : recordLarge(delivery, attempt)),
  };
};
