import type { Logger } from 'pino';
import { planOf } from '../../commands/billing/plan.ts';
import type { NewDelivery, RecordedDelivery, WebhookPorts } from '../../commands/webhooks/receive-delivery.ts';
import * as Agent from '../../domain/agents/agent.ts';
import * as Plan from '../../domain/billing/plan.ts';
import { PLATFORM } from '../../domain/event.ts';
import { isId25 } from '../../domain/id.ts';
import * as Tenant from '../../domain/tenants/tenant.ts';
import { CHUNK_BYTES } from '../../domain/webhooks/delivery-body.ts';
import * as Integration from '../../domain/webhooks/integration.ts';
import { inspectBody } from '../../domain/webhooks/provider.ts';
import { rejectedVerification, signatureClaim, verificationOf, verifySignature } from '../../domain/webhooks/signature.ts';
import type { AggregateCache } from '../aggregates/aggregate-cache.ts';
import type { Log } from '../eventstore/event-log.ts';
import type { RateLimiter } from '../ratelimit/limiter.ts';
import { rejections } from '../refusals/webhook-rejections.ts';
import type { Vault } from '../vault/vault.ts';
import { isRecorded, writeChunks } from './body-chunks.ts';
import { type Recorder, recorder, toRetryLater, withTimeout } from './record-delivery.ts';
import { redeliveries } from './redelivery-check.ts';
import { replayGuard } from './replay-guard.ts';
import { sharedBuffer } from './shared-buffer.ts';
import { signingKeys } from './signing-keys.ts';
import { openVerificationClient } from './verification-client.ts';

export type HookDeps = {
  readonly log: Log;
  readonly vault: Pick<Vault, 'open' | 'uniqueId'>;
  readonly cache: Pick<AggregateCache, 'peek' | 'load'>;
  readonly logger: Pick<Logger, 'warn'>;
  /** Absent: no tenant is limited, as in tests that ask for nothing else. */
  readonly limits?: Pick<RateLimiter, 'countDelivery'> | undefined;
  readonly now?: () => string;
};

const clock = (): string => new Date().toISOString();

/** What the inbound path stands on. `close` waits for what goes on after the answers, and records the rejections that are left. */
export const webhookPorts = ({
  log,
  vault,
  cache,
  logger,
  limits,
  now = clock,
}: HookDeps): WebhookPorts & Pick<Recorder, 'isFailing'> & { close: () => Promise<void> } => {
  const { record, isFailing } = recordingWithChunks(log);
  const compared = redeliveries({ log, logger, now });
  const rejects = rejections({ log, logger, now });
  const large = verification(logger);
  const { integration, agentActive } = lookUps(cache);
  const quota = quotas(cache, vault);
  const keys = signingKeys(vault);
  const replayed = replayGuard({ log, vault });
  return {
    integration: (id) => withTimeout(integration(id)),
    agentActive: (tenant, agent_id) => withTimeout(agentActive(tenant, agent_id)),
    keys: (integration, at) => withTimeout(keys(integration, at)),
    verify: large.verify,
    contents: large.contents,
    allocateBody: sharedBuffer(),
    deliveryId: ({ id, tenant_id }, delivery) => vault.uniqueId('delivery', tenant_id, `${id}\0${delivery}`),
    knows: (integration, id) => compared.knows({ integration, id }),
    enforceQuota: (tenant, tell) =>
      limits && drawn(withTimeout(quota(tenant)), (allowed) => limits.countDelivery(tenant, allowed, Date.parse(now()), tell)),
    replayed: async (integration, facts) => withTimeout(replayed(integration, facts)),
    record: async (recording) => {
      if (compared.knows(recording)) return { token: null };
      const recorded = await record(recording);
      if (recorded.token !== null) compared.recorded(recording);
      return recorded;
    },
    redelivered: compared.redelivered,
    rejected: rejects.rejected,
    now,
    isFailing,
    close: async () => {
      await compared.close();
      await rejects.close();
      await large.close();
    },
  };
};

/** What is done to every byte: here where they are few, in a thread of its own where they are many. */
const verification = (logger: HookDeps['logger']): Pick<WebhookPorts, 'verify' | 'contents'> & { close: () => Promise<void> } => {
  const { ask, close } = openVerificationClient(logger);
  return {
    verify: (scheme, request, keys) => {
      if (request.body.length <= CHUNK_BYTES) return verifySignature(scheme, request, keys);
      const claim = signatureClaim(scheme, request, keys);
      return typeof claim === 'string'
        ? rejectedVerification(claim)
        : ask('matching', claim).then((matched) => verificationOf(keys, matched));
    },
    contents: (media, body) => (body.length <= CHUNK_BYTES ? inspectBody(media, body) : ask('contents', { media, body })),
    close,
  };
};

/** Records a delivery; the parts of a large body first, unless the delivery has been seen: other bytes under its id would lie there for nobody. */
const recordingWithChunks = (log: Log): Recorder => {
  const { record, isFailing } = recorder(log);
  const whole = async (recording: NewDelivery): Promise<RecordedDelivery> => {
    if (await isRecorded(log, recording)) return { token: null };
    await writeChunks(log, recording);
    return record(recording);
  };
  return { record: (recording) => (recording.facts.parts === undefined ? record(recording) : whole(recording)), isFailing };
};

const isTaking = ({ status, is_suspended }: Tenant.Tenant): boolean => (status === 'active' || status === 'closing') && !is_suspended;

const isActive = ({ status, is_active }: Agent.Agent): boolean => status === 'live' && is_active;

/** How many deliveries a minute a tenant may have: by the plan that it is on now, as memory has it. */
const quotas = (cache: HookDeps['cache'], { uniqueId }: HookDeps['vault']): ((tenant: string) => number | Promise<number>) => {
  const ids = { uniqueId: (kind: string, key: string, generation?: number) => uniqueId(kind, PLATFORM, key, generation) };
  const found = async (tenant: string): Promise<number> => {
    const { state } = await cache.load(Tenant, tenant, tenant).catch(toRetryLater);
    return (await cache.load(Plan, PLATFORM, planOf(ids, state)).catch(toRetryLater)).state.limits.webhooks_per_minute;
  };
  return (tenant) => {
    const known = cache.peek(Tenant, tenant, tenant)?.state;
    return (known && cache.peek(Plan, PLATFORM, planOf(ids, known))?.state.limits.webhooks_per_minute) ?? found(tenant);
  };
};

const drawn = <T, R>(known: T | Promise<T>, draw: (value: T) => R | Promise<R>): R | Promise<R> =>
  known instanceof Promise ? known.then(draw) : draw(known);

const lookUps = (cache: HookDeps['cache']): Pick<WebhookPorts, 'integration' | 'agentActive'> => {
  const found = async (id: string): Promise<Integration.Integration | null> => {
    const { state } = await cache.load(Integration, PLATFORM, id).catch(toRetryLater);
    if (state.status !== 'connected') return null;
    const tenant = await cache.load(Tenant, state.tenant_id, state.tenant_id).catch(toRetryLater);
    return isTaking(tenant.state) ? state : null;
  };

  return {
    integration: (id) => {
      if (!isId25(id)) return null;
      const known = cache.peek(Integration, PLATFORM, id)?.state;
      const tenant = known && cache.peek(Tenant, known.tenant_id, known.tenant_id)?.state;
      if (!known || !tenant) return found(id);
      return known.status === 'connected' && isTaking(tenant) ? known : null;
    },
    agentActive: (tenant, agent_id) => {
      const known = cache.peek(Agent, tenant, agent_id)?.state;
      if (known) return isActive(known);
      return cache
        .load(Agent, tenant, agent_id)
        .then(({ state }) => isActive(state))
        .catch(toRetryLater);
    },
  };
};
