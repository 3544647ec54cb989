import { randomUUID } from 'node:crypto';
import type { NewDelivery } from '../../commands/deliveries/webhook-ports.ts';
import type { DeliveryFacts } from '../../domain/deliveries/delivery.ts';
import { type BodyEvent, category, checkBodyReplay, evolve, initial } from '../../domain/deliveries/replay-guard.ts';
import { type Recorded, streamName } from '../../domain/event.ts';
import { type Expected, isConflict, type Log, type NewEvent } from '../eventstore/event-log.ts';
import type { Vault } from '../vault/vault.ts';
import { toRetryLater } from './delivery-appends.ts';

const APPEND_TIMEOUT_MS = 500;

type Owner = NewDelivery['integration'];

/**
 * A replay is a body that the integration received with another delivery id within REPLAY_WINDOW_MS. Each body is recorded in a stream of
 * its own. (A repeated delivery id is a redelivery, see delivery-appends.ts.)
 * @throws Refusal unavailable
 */
export const createReplayGuard =
  ({ log, vault }: { log: Log; vault: Pick<Vault, 'uniqueId'> }) =>
  async (integration: Owner, facts: DeliveryFacts): Promise<boolean> => {
    const tenant = integration.tenant_id;
    const stream = streamName(category, tenant, vault.uniqueId('body', tenant, `${integration.id}\0${facts.sha256}`));
    try {
      if (await recordBody(log, stream, 'none', eventOf(integration, facts))) return false;
      return await isKnownReplay(log, stream, integration, facts);
    } catch (error) {
      return toRetryLater(error);
    }
  };

/**
 * Returns whether a body is a replay: it was recorded with another delivery id, and not too long ago (see
 * `checkBodyReplay`). If it was not recorded, or too long ago, it is recorded now. If another process records it at the
 * same time, the check is repeated with the event of that process.
 */
const isKnownReplay = async (log: Log, stream: string, integration: Owner, facts: DeliveryFacts): Promise<boolean> => {
  for (;;) {
    const last = (await log.last(stream)) as Recorded<BodyEvent> | null;
    const result = checkBodyReplay(last ? evolve(initial, last) : initial, facts.provider_delivery_id, facts.received_at);
    if (result !== 'first') return result === 'replay';
    if (await recordBody(log, stream, last?.revision ?? 'none', eventOf(integration, facts))) return false;
  }
};

/** Returns false if the stream is not at the expected revision. */
const recordBody = async (log: Log, stream: string, expected: Expected, event: NewEvent): Promise<boolean> => {
  try {
    await log.append(stream, expected, [event], { deadline: APPEND_TIMEOUT_MS });
    return true;
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
};

const eventOf = ({ id, tenant_id: tenant }: Owner, { provider_delivery_id, received_at: at }: DeliveryFacts): NewEvent => ({
  id: randomUUID(),
  type: 'WebhookBodySeen',
  data: { provider_delivery_id },
  meta: { tenant, actor: { kind: 'system', id }, at, v: 1 },
});
