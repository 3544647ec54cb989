import { type DeadMessage, redeliverDead } from '../../../commands/deliveries/redeliver.ts';
import type { Recorded } from '../../../domain/event.ts';
import { Instant } from '../../../domain/fields.ts';
import { isId25 } from '../../../domain/id.ts';
import type { AcknowledgementEvent } from '../../../domain/runners/acknowledgement.ts';
import { shownValue } from '../../../domain/shown-value.ts';
import { reactorContext } from '../../aggregates/reactor-context.ts';
import type { Config } from '../../config.ts';
import { openLog } from '../../eventstore/client.ts';
import type { Log } from '../../eventstore/event-log.ts';
import { usageError } from '../arguments.ts';
import { locateServices } from '../locate-services.ts';
import { createResendReport } from './resend-report.ts';

export type RedeliverOptions = {
  readonly outcome: string;
  readonly since: string;
  readonly tenant?: string | undefined;
  readonly dryRun: boolean;
  readonly verbose: boolean;
};

/** The operator who runs this command is not a user of the platform. */
const ACTOR = { kind: 'system', id: 'annals deliveries' } as const;

type SettlingEvent = Extract<AcknowledgementEvent, { type: 'DeliveriesAcknowledged' | 'DeliveryDeadLettered' }>;
type Selection = { readonly since: string; readonly tenant: string | undefined };

/** @throws a usage error */
const selectionOf = ({ outcome, since, tenant }: RedeliverOptions): Selection => {
  if (outcome !== 'dead') throw usageError('--outcome must be dead: deliveries with another outcome are sent again one by one, by the API');
  const from = Instant.safeParse(since).data;
  if (from === undefined) throw usageError(`--since must be a time such as 2026-11-21T10:00:00Z; it is ${shownValue(since)}`);
  if (tenant !== undefined && !isId25(tenant)) throw usageError('--tenant must be a tenant id');
  return { since: from, tenant };
};

/** Leaves out messages that a runner has acknowledged afterwards. Reads the log, because read models may lag behind it. */
const deadMessages = async (log: Log, { since, tenant }: Selection): Promise<DeadMessage[]> => {
  const dead = new Map<string, DeadMessage>();
  const caughtUp = Promise.withResolvers<void>();
  const onEvent = (event: Recorded<SettlingEvent>): void => {
    if (tenant !== undefined && event.tenant !== tenant) return;
    if (event.type === 'DeliveriesAcknowledged') {
      for (const { event_id } of event.data.deliveries) dead.delete(event_id);
      return;
    }
    const { delivery_id, event_id: message_id, at } = event.data;
    if (at >= since) dead.set(message_id, { tenant: event.tenant, agent_id: event.id, delivery_id, message_id });
  };
  const subscription = log.follow({
    filter: { eventTypes: ['DeliveriesAcknowledged', 'DeliveryDeadLettered'] satisfies SettlingEvent['type'][] },
    event: (event) => onEvent(event as Recorded<SettlingEvent>),
    caughtUp: caughtUp.resolve,
  });
  const failed = subscription.failure.then((error) => {
    if (error) throw error;
  });
  await Promise.race([caughtUp.promise, failed]);
  await subscription.stop();
  return [...dead.values()];
};

/** A repeated call, even after an interruption, sends no delivery twice. Returns the exit code. */
export const redeliverDeliveries = async (config: Config, options: RedeliverOptions): Promise<number> => {
  const selection = selectionOf(options);
  const log = openLog(locateServices(config).eventstoreUrl);
  try {
    await log.ping();
    const ctx = reactorContext(log, { actor: ACTOR });
    const report = createResendReport(options);
    for (const dead of await deadMessages(log, selection)) report.add(dead, await redeliverDead(ctx, dead, options.dryRun));
    return report.end();
  } finally {
    await log.close();
  }
};
