import type { Logger } from 'pino';
import type { AggregateReader } from '../../commands/context.ts';
import { createDeliveryEligibility } from '../../commands/deliveries/delivery-eligibility.ts';
import { evaluateLate } from '../../commands/deliveries/evaluate-delivery.ts';
import type {
  EligibilityPort,
  GuardrailPort,
  NewDelivery,
  RecordingPort,
  VerificationPort,
  WebhookPorts,
} from '../../commands/deliveries/webhook-ports.ts';
import { inspectBody } from '../../domain/bodies/body-inspection.ts';
import { PLATFORM } from '../../domain/event.ts';
import type { Integration } from '../../domain/integrations/integration.ts';
import { rejectedVerification, signatureClaim, verificationOf, verifySignature } from '../../domain/integrations/signature.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { RateLimiter } from '../ratelimit/limiter.ts';
import { createSlidingWindows, type SlidingWindows } from '../ratelimit/sliding-windows.ts';
import { rejectionWriter } from '../refusals/webhook-rejections.ts';
import type { Vault } from '../vault/vault.ts';
import { createChunkSealer } from './body-chunks.ts';
import { createBodyMemory } from './body-memory.ts';
import { withTimeout } from './delivery-appends.ts';
import { guardrailPort } from './guardrail-port.ts';
import {
  type CountWebhook,
  createDeliveryRecording,
  type DeliveryRecording,
  type RecordingDeps,
  type SpoolDeps,
} from './record-delivery.ts';
import { createReplayGuard } from './replay-guard.ts';
import { createSigningKeys } from './signing-keys.ts';
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
  readonly spool?: SpoolDeps;
  readonly previews: RecordingDeps['previews'];
  readonly count?: CountWebhook | undefined;
};

type Deps = WebhookDeps & { readonly now: () => string; readonly count: CountWebhook };
type RunTask = ReturnType<typeof openVerificationClient>['run'];
type RecordingState = Pick<DeliveryRecording, 'isFailing' | 'isBreakerOpen' | 'spooledShare'>;
type Closable = { readonly close: () => Promise<void> };
/** Loads what is needed to receive a delivery. @throws Refusal unavailable */
type Preparation = { readonly prepare: (integration_id: string) => Promise<void> };

const clock = (): string => new Date().toISOString();

/** Connects to the log, the vault and the other services. `close` finishes pending work and records pending rejections. */
export const webhookPorts = ({
  now = clock,
  count = () => {},
  ...rest
}: WebhookDeps): WebhookPorts & RecordingState & Preparation & Closable => {
  const deps = { now, count, ...rest };
  const worker = openVerificationClient(deps.logger);
  const { close: closeGuardrails, ...guardrails } = guardrailPort({ windows: createSlidingWindows(), ...deps });
  const { quotaOf, ...eligibility } = eligibilityPort(deps);
  const evaluate = (delivery: NewDelivery) => evaluateLate({ eligibility, guardrails }, delivery);
  const { close: closeRecording, isFailing, isBreakerOpen, spooledShare, ...recording } = recordingPort(deps, worker.run, evaluate);
  const verification = verificationPort(deps, worker.run);
  return {
    eligibility: { ...eligibility, integration: countUnknown(eligibility.integration, count) },
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

const recordingPort = (
  { log, vault, logger, now, spool, previews, count }: Deps,
  run: RunTask,
  evaluateLate: (delivery: NewDelivery) => Promise<NewDelivery>,
): RecordingPort & Omit<DeliveryRecording, keyof RecordingPort> => {
  const sealChunk = createChunkSealer(vault, (task) => run('sealBytes', task));
  const replayGuard = createReplayGuard({ log, vault });
  const isReplay: typeof replayGuard = async (...args) => withTimeout(replayGuard(...args));
  const recording = createDeliveryRecording({ log, vault, logger, now, spool, previews, count, sealChunk, isReplay, evaluateLate });
  const rejections = rejectionWriter({ log, logger, now });
  return {
    ...recording,
    deliveryId: ({ id, tenant_id }, delivery) => vault.uniqueId('delivery', tenant_id, `${id}\0${delivery}`),
    answerHandshake: ({ provider }) => count('handshake', '', provider),
    recordRejection: (integration, rejection, at) => {
      count('rejected', rejection.reason, integration.provider);
      rejections.record(integration, rejection, at);
    },
    close: async () => {
      await recording.close();
      await rejections.close();
    },
  };
};

/** Counts the calls whose address is unknown, or cannot be looked up. */
const countUnknown = (integration: EligibilityPort['integration'], count: CountWebhook): EligibilityPort['integration'] => {
  const countMissing = (found: Integration | null): Integration | null => {
    if (found === null) count('rejected', 'unknown_address', '');
    return found;
  };
  const fail = (error: unknown): never => {
    count('unavailable', '', '');
    throw error;
  };
  return (id) => {
    const found = integration(id);
    return found instanceof Promise ? found.then(countMissing, fail) : countMissing(found);
  };
};
