import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { AggregateReader } from '../../commands/context.ts';
import type { WebhookPorts } from '../../commands/deliveries/webhook-ports.ts';
import type { SkillCallPorts } from '../../commands/skill-calls/skill-call-ports.ts';
import { createSkillTarget } from '../../commands/skill-calls/skill-target.ts';
import { category, factsOf } from '../../domain/deliveries/delivery.ts';
import { streamName } from '../../domain/event.ts';
import { retryLater, toRetryLater, withTimeout } from '../deliveries/delivery-appends.ts';
import type { Log } from '../eventstore/event-log.ts';
import { skillRefusalWriter } from '../refusals/skill-refusals.ts';
import { randomId } from '../vault/unique-id.ts';
import type { Vault } from '../vault/vault.ts';

/** Delays refusals to a multiple of this time since the call: the response time then does not reveal a look-up in the log. */
const PAUSE_MS = 25;

export type SkillCallDeps = {
  readonly log: Log;
  readonly vault: Pick<Vault, 'uniqueId' | 'digest'>;
  readonly cache: AggregateReader;
  readonly logger: Pick<Logger, 'warn'>;
  readonly deliveries: WebhookPorts;
};

const startPause = (): (() => Promise<void>) => {
  const startedAt = performance.now();
  return () => {
    const elapsed = performance.now() - startedAt;
    return sleep(Math.ceil(elapsed / PAUSE_MS) * PAUSE_MS - elapsed);
  };
};

/** Connects to the log, the vault and the recording of deliveries. `close` records the refused calls that are still in memory. */
export const skillCallPorts = ({
  log,
  vault,
  cache,
  logger,
  deliveries,
}: SkillCallDeps): SkillCallPorts & { close: () => Promise<void> } => {
  const target = createSkillTarget(cache);
  const refusals = skillRefusalWriter({ log, logger, now: deliveries.now });
  return {
    deliveries,
    target: (webhook_id) => withTimeout(target(webhook_id)),
    digest: vault.digest,
    callId: ({ id, tenant_id }, key) => (key === undefined ? randomId() : vault.uniqueId('skillcall', tenant_id, `${id}\0${key}`)),
    recorded: async ({ tenant_id }, id) => {
      const [first] = await Array.fromAsync(log.read(streamName(category, tenant_id, id), { limit: 1 })).catch(toRetryLater);
      // A call that is not in the log yet is still in the spool.
      if (!first) throw retryLater();
      return { sha256: factsOf(first).sha256, isBlocked: first.type === 'SkillWebhookBlocked' };
    },
    recordRefusal: refusals.record,
    startPause,
    close: refusals.close,
  };
};
