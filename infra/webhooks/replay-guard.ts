import { randomUUID } from 'node:crypto';
import { type Recorded, streamName } from '../../domain/event.ts';
import type { DeliveryFacts } from '../../domain/webhooks/delivery.ts';
import type { Integration } from '../../domain/webhooks/integration.ts';
import { type BodyEvent, category, checkBodyReplay, evolve, initial } from '../../domain/webhooks/replay-guard.ts';
import { type Expected, type Log, LogError, type NewEvent } from '../eventstore/event-log.ts';
import type { Vault } from '../vault/vault.ts';
import { toRetryLater } from './record-delivery.ts';

/** Tells a body that is known under another delivery id, by noting each body in a stream of its own. @throws Refusal unavailable */
export const replayGuard =
  ({ log, vault }: { log: Log; vault: Pick<Vault, 'uniqueId'> }) =>
  async (integration: Integration, facts: DeliveryFacts): Promise<boolean> => {
    const tenant = integration.tenant_id;
    const stream = streamName(category, tenant, vault.uniqueId('body', tenant, `${integration.id}\0${facts.sha256}`));
    try {
      if (await noted(log, stream, 'none', eventOf(integration, facts))) return false;
      return await judged(log, stream, integration, facts);
    } catch (error) {
      return toRetryLater(error);
    }
  };

/** A body that was seen long ago is noted again; where another process does so at the same moment, what it noted is judged. */
const judged = async (log: Log, stream: string, integration: Integration, facts: DeliveryFacts): Promise<boolean> => {
  for (;;) {
    const last = (await log.last(stream)) as Recorded<BodyEvent> | null;
    const verdict = checkBodyReplay(last ? evolve(initial, last) : initial, facts.provider_delivery_id, facts.received_at);
    if (verdict !== 'first') return verdict === 'replay';
    if (await noted(log, stream, last?.revision ?? 'none', eventOf(integration, facts))) return false;
  }
};

const noted = async (log: Log, stream: string, expected: Expected, event: NewEvent): Promise<boolean> => {
  try {
    await log.append(stream, expected, [event], { deadline: 500 });
    return true;
  } catch (error) {
    if (error instanceof LogError && error.kind === 'conflict') return false;
    throw error;
  }
};

const eventOf = ({ id, tenant_id: tenant }: Integration, { provider_delivery_id, received_at: at }: DeliveryFacts): NewEvent => ({
  id: randomUUID(),
  type: 'WebhookBodySeen',
  data: { provider_delivery_id },
  meta: { tenant, actor: { kind: 'system', id }, at, v: 1 },
});
