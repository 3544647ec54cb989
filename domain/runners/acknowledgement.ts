import type { Recorded } from '../event.ts';

export const category = 'acknowledgement';

/**
 * A delivery whose message was acknowledged by a runner or given up by the broker. `event_id` is the id of the message.
 * `attempts` is how often the broker sent the message to a runner. `published_at` is when the broker stored the
 * message; absent in old events.
 */
export type SettledDelivery = { delivery_id: string; event_id: string; at: string; attempts: number; published_at?: string };

/**
 * The last recorded advisory (a notice of the broker about one message), by its sequence number in the broker stream of
 * advisories. If this broker stream is created again, its sequence numbers restart, and `epoch` changes. `at` is the
 * latest time of a recorded advisory; absent in old events. It is needed because a broker that is killed while it
 * deletes messages may restart the sequence numbers of the same stream.
 */
export type AdvisoryCursor = { epoch: string; sequence: number; at?: string };

/** Each agent has one stream of these events: `acknowledgement-<tenant>.<agent>`. */
export type AcknowledgementEvent =
  | { type: 'DeliveriesAcknowledged'; data: { deliveries: readonly SettledDelivery[]; capture: AdvisoryCursor } }
  | { type: 'DeliveryDeadLettered'; data: SettledDelivery & { reason: 'max_deliveries' | 'terminated'; capture: AdvisoryCursor } };

export type Acknowledgements = { capture: AdvisoryCursor | null };

export const initial: Acknowledgements = { capture: null };

export const evolve = (_: Acknowledgements, { data }: Recorded<AcknowledgementEvent>): Acknowledgements => ({ capture: data.capture });

/** A message to a runner: its id and that of its delivery. */
export type MessageRef = Pick<SettledDelivery, 'delivery_id' | 'event_id'>;

/**
 * Returns the event, reduced to this message, and the time at which the message was acknowledged or given up. Returns
 * null if the event does not contain the message.
 */
export const eventForMessage = (
  event: Recorded<AcknowledgementEvent>,
  message: MessageRef,
): { readonly event: Recorded<AcknowledgementEvent>; readonly at: string } | null => {
  const isAbout = ({ delivery_id, event_id }: MessageRef): boolean => delivery_id === message.delivery_id && event_id === message.event_id;
  if (event.type === 'DeliveryDeadLettered') return isAbout(event.data) ? { event, at: event.data.at } : null;
  const deliveries = event.data.deliveries.filter(isAbout);
  const last = deliveries.at(-1);
  return last ? { event: { ...event, data: { ...event.data, deliveries } }, at: last.at } : null;
};

/**
 * What the broker reported about one message. `sequence` is the number of the advisory in the broker stream of
 * advisories.
 */
export type Advisory = SettledDelivery & { sequence: number; outcome: 'acknowledged' | 'max_deliveries' | 'terminated' };

/** The maximum number of deliveries in one event. More would not fit into one append of at most 1,000,000 bytes. */
export const MAX_DELIVERIES_PER_EVENT = 4_000;

const settledOf = ({ sequence: _, outcome: __, ...settled }: Advisory): SettledDelivery => settled;

/**
 * Whether an advisory is not recorded yet. One with a low sequence number is new if it is later than all recorded ones:
 * then the sequence numbers have restarted.
 */
const isUnrecorded =
  (epoch: string, capture: AdvisoryCursor | null) =>
  ({ sequence, at }: Advisory): boolean =>
    capture?.epoch !== epoch || sequence > capture.sequence || (capture.at !== undefined && at > capture.at);

/** The later one of two times in RFC 3339 UTC with milliseconds. */
const laterTime = (a: string | undefined, b: string): string => (a !== undefined && a > b ? a : b);

/**
 * Records advisories that are not recorded yet: the first MAX_DELIVERIES_PER_EVENT of them. The caller must load the
 * new state and repeat the decision until it returns no events.
 */
export const recordAdvisories =
  (epoch: string, advisories: readonly Advisory[]) =>
  ({ capture }: Acknowledgements): AcknowledgementEvent[] => {
    const unrecorded = advisories.filter(isUnrecorded(epoch, capture)).slice(0, MAX_DELIVERIES_PER_EVENT);
    const last = unrecorded.at(-1);
    if (!last) return [];
    const known = capture?.epoch === epoch ? capture.at : undefined;
    const through: AdvisoryCursor = {
      epoch,
      sequence: last.sequence,
      at: unrecorded.map(({ at }) => at).reduce(laterTime, known ?? last.at),
    };
    const acknowledged = unrecorded.filter(({ outcome }) => outcome === 'acknowledged').map(settledOf);
    const events: AcknowledgementEvent[] =
      acknowledged.length > 0 ? [{ type: 'DeliveriesAcknowledged', data: { deliveries: acknowledged, capture: through } }] : [];
    for (const advisory of unrecorded) {
      if (advisory.outcome === 'acknowledged') continue;
      events.push({ type: 'DeliveryDeadLettered', data: { ...settledOf(advisory), reason: advisory.outcome, capture: through } });
    }
    return events;
  };
