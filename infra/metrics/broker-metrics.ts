import type { Backlog } from '../nats/consumer-backlog.ts';
import type { RelayLag } from '../relay/relay-lag.ts';
import type { ProcessMetrics } from './process-metrics.ts';

const CONSUMER_HELP = {
  annals_consumer_unacknowledged_messages: 'Messages to an agent that no runner has acknowledged yet',
  annals_consumer_redelivered_messages: 'Those of them that were sent to a runner more than once',
  annals_consumer_oldest_unacknowledged_seconds: 'Age of the oldest of them, in seconds',
} as const;

const TOTAL_HELP = {
  annals_unacknowledged_messages: 'Messages that no runner has acknowledged yet, of all agents whose runner has connected before',
  annals_consumers: 'Agents whose runner has connected before',
  annals_waiting_runner_requests: 'Requests of runners that wait for a message',
} as const;

const RELAY_HELP = {
  annals_relay_lag_events: 'Events in the log that are not published to the broker yet (counted up to 100,000)',
  annals_relay_lag_seconds: 'Age of the oldest of them, in seconds',
} as const;

/** A function returns null if there is no value, or if another process exports the metric. */
export type BrokerReadings = {
  readonly relayLag: () => Promise<RelayLag | null>;
  readonly backlog: () => Promise<Backlog | null>;
  /** Returns the number of held deliveries, by what holds them. */
  readonly held: () => Promise<readonly { readonly reason: string; readonly count: number }[] | null>;
};

/** Adds the metrics about the relay, and about messages that no runner has acknowledged. */
export const addBrokerMetrics = (metrics: ProcessMetrics, { relayLag, backlog, held }: BrokerReadings): void => {
  metrics.addGroup({
    help: {
      annals_deliveries_held:
        'Deliveries that wait; `budget`: the hourly budget of their agent is used up; `rate`: a rule or setting allows no more now; `hours`: it is outside of the working hours of their agent',
    },
    read: async () =>
      ((await held()) ?? []).map(({ reason, count }) => ({ labels: { reason }, values: { annals_deliveries_held: count } })),
  });
  metrics.addGroup({
    help: RELAY_HELP,
    read: async () => {
      const lag = await relayLag();
      return lag ? [{ labels: {}, values: { annals_relay_lag_events: lag.events, annals_relay_lag_seconds: lag.seconds } }] : [];
    },
  });
  metrics.addGroup({
    help: { ...CONSUMER_HELP, ...TOTAL_HELP },
    read: async () => {
      const found = await backlog();
      if (!found) return [];
      const { consumers, unacknowledged, waitingRunners, behind } = found;
      const totals = {
        annals_consumers: consumers,
        annals_unacknowledged_messages: unacknowledged,
        annals_waiting_runner_requests: waitingRunners,
      };
      return [
        { labels: {}, values: totals },
        ...behind.map(({ tenant, agent, ...each }) => ({
          labels: { tenant, agent },
          values: {
            annals_consumer_unacknowledged_messages: each.unacknowledged,
            annals_consumer_redelivered_messages: each.redelivered,
            annals_consumer_oldest_unacknowledged_seconds: each.oldestSeconds,
          },
        })),
      ];
    },
  });
};
