import type { NewDelivery, WebhookPorts } from '../../commands/deliveries/webhook-ports.ts';

/** `unavailable`: the call could not be recorded, so the sender must repeat it. */
export type WebhookOutcome = 'accepted' | 'blocked' | 'duplicate' | 'rejected' | 'handshake' | 'unavailable';

/** Called once for every call. `reason` and `provider` are empty if there is none, or it is unknown. */
export type CountWebhook = (outcome: WebhookOutcome, reason: string, provider: string) => void;

const outcomeOf = (type: NewDelivery['type']): WebhookOutcome =>
  type === 'WebhookBlocked' || type === 'SkillWebhookBlocked' ? 'blocked' : 'accepted';

/** Counts every call when its outcome is known. */
export const countDeliveries = <P extends WebhookPorts>(ports: P, count: CountWebhook): P => {
  const { eligibility, recording } = ports;

  const countUnknown = <T>(integration: T): T => {
    if (integration === null) count('rejected', 'unknown_address', '');
    return integration;
  };
  const failLookup = (error: unknown): never => {
    count('unavailable', '', '');
    throw error;
  };

  const record: typeof recording.record = async (delivery) => {
    const { provider, reason } = delivery.facts;
    try {
      const recorded = await recording.record(delivery);
      if (recorded.token === null && !recorded.isSpooled) count('duplicate', '', provider);
      else count(outcomeOf(delivery.type), reason ?? '', provider);
      return recorded;
    } catch (error) {
      count('unavailable', '', provider);
      throw error;
    }
  };

  return {
    ...ports,
    eligibility: {
      ...eligibility,
      integration: (id) => {
        const found = eligibility.integration(id);
        return found instanceof Promise ? found.then(countUnknown, failLookup) : countUnknown(found);
      },
    },
    recording: {
      ...recording,
      record,
      answerHandshake: (integration) => {
        count('handshake', '', integration.provider);
        recording.answerHandshake(integration);
      },
      recordRejection: (integration, rejection, at) => {
        count('rejected', rejection.reason, integration.provider);
        recording.recordRejection(integration, rejection, at);
      },
    },
  };
};
