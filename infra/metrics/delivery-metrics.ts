import { PROVIDERS } from '../../domain/integrations/provider.ts';
import type { CountWebhook, WebhookOutcome } from '../deliveries/record-delivery.ts';
import type { SettledMessage } from '../relay/record-acknowledgements.ts';
import type { ProcessMetrics } from './process-metrics.ts';
import { type Counter, createCounter, createHistogram } from './series.ts';

/** In seconds. They range from a runner that is already waiting to one that was offline for days. */
const DELIVERY_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 21_600, 86_400];
const GIVEN_UP = ['max_deliveries', 'terminated'] as const;

/** Adds the counter of webhook calls by outcome, and returns the function that counts one call. */
export const countWebhooks = ({ registry }: Pick<ProcessMetrics, 'registry'>): CountWebhook => {
  const seriesOf = createCounter<'outcome' | 'reason' | 'provider'>(registry, {
    name: 'annals_deliveries_total',
    help: 'Webhook calls by outcome: accepted, blocked, duplicate, rejected, handshake, or unavailable (the sender has to repeat it)',
  });
  // Nested maps: building a text as a key for every call would take longer.
  const byOutcome = new Map<string, Map<string, Map<string, Counter>>>();
  const counterOf = (outcome: WebhookOutcome, reason: string, provider: string): Counter =>
    byOutcome
      .getOrInsertComputed(outcome, () => new Map())
      .getOrInsertComputed(reason, () => new Map())
      .getOrInsertComputed(provider, () => seriesOf({ outcome, reason, provider }));
  // These series exist from the start. Otherwise an alert on their increase would miss the first increase.
  for (const provider of ['', ...PROVIDERS]) counterOf('unavailable', '', provider);
  for (const provider of PROVIDERS) counterOf('accepted', '', provider);
  return (outcome, reason, provider) => counterOf(outcome, reason, provider).add();
};

/** The function counts one message that was acknowledged or given up. */
export const measureSettledMessages = ({ registry }: Pick<ProcessMetrics, 'registry'>): ((settled: SettledMessage) => void) => {
  const duration = createHistogram(
    registry,
    { name: 'annals_delivery_seconds', help: 'Time from the receipt of a delivery to its acknowledgement by a runner, in seconds' },
    DELIVERY_BUCKETS,
  )({});
  const redeliveries = createCounter(registry, {
    name: 'annals_redeliveries_total',
    help: 'How often the broker sent a message to a runner again; counted when the message is acknowledged or given up',
  })({});
  const deadLetters = createCounter<'reason'>(registry, {
    name: 'annals_dead_letters_total',
    help: 'Messages that were given up: after too many attempts (max_deliveries), or because a runner refused them (terminated)',
  });
  const givenUp = new Map(GIVEN_UP.map((reason) => [reason as string, deadLetters({ reason })]));
  return ({ outcome, attempts, seconds }) => {
    if (outcome !== 'acknowledged') givenUp.get(outcome)!.add();
    else if (seconds !== null) duration.observe(seconds);
    if (attempts > 1) redeliveries.add(attempts - 1);
  };
};
