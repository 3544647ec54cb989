import type { Recorded } from '../event.ts';

export const category = 'acknowledgement';

/** A delivery that its agent's runner is done with. `event_id` is the message's id, `attempts` how often it was handed out. */
export type SettledDelivery = { delivery_id: string; event_id: string; at: string; attempts: number };

/** How far the broker's notices are taken into this stream; `epoch` tells one life of the notices' stream from the next. */
export type AdvisoryCursor = { epoch: string; sequence: number };

/** The stream is the agent's: `acknowledgement-<tenant>.<agent>`. */
export type AcknowledgementEvent =
  | { type: 'DeliveriesAcknowledged'; data: { deliveries: readonly SettledDelivery[]; capture: AdvisoryCursor } }
  | { type: 'DeliveryDeadLettered'; data: SettledDelivery & { reason: 'max_deliveries' | 'terminated'; capture: AdvisoryCursor } };

export type Acknowledgements = { capture: AdvisoryCursor | null };

export const initial: Acknowledgements = { capture: null };

export const evolve = (_: Acknowledgements, { data }: Recorded<AcknowledgementEvent>): Acknowledgements => ({ capture: data.capture });

/** An event as far as it is about one delivery, and when that was settled by it; null where it is about others alone. */
export const eventForDelivery = (
  event: Recorded<AcknowledgementEvent>,
  delivery_id: string,
): { readonly event: Recorded<AcknowledgementEvent>; readonly at: string } | null => {
  if (event.type === 'DeliveryDeadLettered') return event.data.delivery_id === delivery_id ? { event, at: event.data.at } : null;
  const deliveries = event.data.deliveries.filter((one) => one.delivery_id === delivery_id);
  const last = deliveries.at(-1);
  return last ? { event: { ...event, data: { ...event.data, deliveries } }, at: last.at } : null;
};

/** What the broker said of one message: its place among the notices, and the delivery it is about. */
export type Advisory = SettledDelivery & { sequence: number; outcome: 'acknowledged' | 'max_deliveries' | 'terminated' };

/** An append holds less than a megabyte: this many deliveries stand in one event. */
export const MAX_DELIVERIES_PER_EVENT = 4_000;

const settled = ({ delivery_id, event_id, at, attempts }: Advisory): SettledDelivery => ({ delivery_id, event_id, at, attempts });

/** Takes in the notices that lie behind what the stream holds already, in their order; at most MOST_DELIVERIES of them. */
export const recordAdvisories =
  (epoch: string, notices: readonly Advisory[]) =>
  ({ capture }: Acknowledgements): AcknowledgementEvent[] => {
    const known = capture?.epoch === epoch ? capture.sequence : 0;
    const fresh = notices.filter(({ sequence }) => sequence > known).slice(0, MAX_DELIVERIES_PER_EVENT);
    const last = fresh.at(-1);
    if (!last) return [];
    const through: AdvisoryCursor = { epoch, sequence: last.sequence };
    const acknowledged = fresh.filter(({ outcome }) => outcome === 'acknowledged').map(settled);
    const events: AcknowledgementEvent[] =
      acknowledged.length > 0 ? [{ type: 'DeliveriesAcknowledged', data: { deliveries: acknowledged, capture: through } }] : [];
    for (const notice of fresh) {
      if (notice.outcome === 'acknowledged') continue;
      events.push({ type: 'DeliveryDeadLettered', data: { ...settled(notice), reason: notice.outcome, capture: through } });
    }
    return events;
  };
