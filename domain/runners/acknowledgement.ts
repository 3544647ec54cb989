import type { Recorded } from '../event.ts';

export const category = 'acknowledgement';

/**
 * `event_id` is the id of the message, and `attempts` how often the broker sent it to a runner. `published_at` is when
 * the broker stored the message; absent in old events. `occurrence_id` is present only for the message of a cron job.
 */
export type SettledDelivery = {
  delivery_id: string;
  event_id: string;
  at: string;
  attempts: number;
  published_at?: string;
  occurrence_id?: string;
};

/**
 * The last recorded advisory (a notice of the broker about one message), by its sequence number in the JetStream stream
 * of advisories. If that stream is created again, its numbers start again, and `epoch` is different. `at` is the latest
 * time of a recorded advisory; absent in old events. It identifies new advisories if the numbers of the same stream start
 * again because the broker was killed while it deleted messages.
 */
export type AdvisoryCursor = { epoch: string; sequence: number; at?: string };

/**
 * An attempt to deliver a message that ended with a negative acknowledgement by the runner. `attempts` is the number of
 * this attempt. The broker then sends the message again or gives it up.
 */
export type FailedAttempt = SettledDelivery;

/** How a message was settled: a runner acknowledged it, or the broker gave it up. */
export type Outcome = 'acknowledged' | 'max_deliveries' | 'terminated';

/** A message of a session that is acknowledged or given up, so that the next one can be processed. */
export type SettledSessionMessage = { session_id: string; event_id: string; at: string; attempts: number; outcome: Outcome };

/** Each agent has one stream of these events: `acknowledgement-<tenant>.<agent>`. */
export type AcknowledgementEvent =
  | { type: 'DeliveriesAcknowledged'; data: { deliveries: readonly SettledDelivery[]; capture: AdvisoryCursor } }
  | { type: 'DeliveryAttemptFailed'; data: { failures: readonly FailedAttempt[]; capture: AdvisoryCursor } }
  | { type: 'SessionMessagesSettled'; data: { messages: readonly SettledSessionMessage[]; capture: AdvisoryCursor } }
  | { type: 'DeliveryDeadLettered'; data: SettledDelivery & { reason: 'max_deliveries' | 'terminated'; capture: AdvisoryCursor } };

export type Acknowledgements = { capture: AdvisoryCursor | null };

export const initial: Acknowledgements = { capture: null };

export const evolve = (_: Acknowledgements, { data }: Recorded<AcknowledgementEvent>): Acknowledgements => ({ capture: data.capture });

export type MessageRef = Pick<SettledDelivery, 'delivery_id' | 'event_id'>;

type DeliveriesOf = Extract<AcknowledgementEvent, { type: 'DeliveriesAcknowledged' }>;
type FailuresOf = Extract<AcknowledgementEvent, { type: 'DeliveryAttemptFailed' }>;

/** Returns a copy of the event without the entries for which `isWanted` returns false. */
const reducedTo = (
  event: Recorded<DeliveriesOf | FailuresOf>,
  isWanted: (entry: SettledDelivery) => boolean,
): { readonly event: Recorded<AcknowledgementEvent>; readonly entries: readonly SettledDelivery[] } => {
  if (event.type === 'DeliveriesAcknowledged') {
    const deliveries = event.data.deliveries.filter(isWanted);
    return { event: { ...event, data: { ...event.data, deliveries } }, entries: deliveries };
  }
  const failures = event.data.failures.filter(isWanted);
  return { event: { ...event, data: { ...event.data, failures } }, entries: failures };
};

/**
 * Returns a copy of the event that contains only the entries of this message; null if there are none. `at` in the
 * result is the time at which the message was acknowledged or given up, or at which the attempt failed.
 */
export const eventForMessage = (
  event: Recorded<AcknowledgementEvent>,
  message: MessageRef,
): { readonly event: Recorded<AcknowledgementEvent>; readonly at: string } | null => {
  const isAbout = ({ delivery_id, event_id }: MessageRef): boolean => delivery_id === message.delivery_id && event_id === message.event_id;
  if (event.type === 'SessionMessagesSettled') return null;
  if (event.type === 'DeliveryDeadLettered') return isAbout(event.data) ? { event, at: event.data.at } : null;
  const { event: reduced, entries } = reducedTo(event, isAbout);
  const last = entries.at(-1);
  return last ? { event: reduced, at: last.at } : null;
};

/**
 * A report of the broker about one message. `sequence` is the number of this report in the JetStream stream of
 * advisories. `session_id` is only present for a message of a session, whose `delivery_id` is empty.
 */
export type Advisory = SettledDelivery & { sequence: number; outcome: Outcome | 'failed'; session_id?: string };

/**
 * The maximum number of deliveries in one event. With more, the event would not fit into one append of at most
 * 1,000,000 bytes.
 */
export const MAX_DELIVERIES_PER_EVENT = 4_000;

const settledOf = ({ sequence: _, outcome: __, ...settled }: Advisory): SettledDelivery => settled;

/**
 * Creates a function that returns whether an advisory is not recorded yet. This is so if its sequence number is higher
 * than the last recorded one, or if its time is later than that of all recorded advisories (then the numbers have
 * started again).
 */
const isUnrecorded =
  (epoch: string, capture: AdvisoryCursor | null) =>
  ({ sequence, at }: Advisory): boolean =>
    capture?.epoch !== epoch || sequence > capture.sequence || (capture.at !== undefined && at > capture.at);

const settledSessions = (advisories: readonly Advisory[]): SettledSessionMessage[] =>
  advisories.flatMap(({ session_id, event_id, at, attempts, outcome }) =>
    session_id === undefined || outcome === 'failed' ? [] : [{ session_id, event_id, at, attempts, outcome }],
  );

/** Failed attempts of messages of sessions are not recorded. */
const isRecordable = ({ session_id, outcome }: Advisory): boolean => session_id === undefined || outcome !== 'failed';

/** Returns the later of two times in RFC 3339 UTC with milliseconds. */
const laterTime = (a: string | undefined, b: string): string => (a !== undefined && a > b ? a : b);

/**
 * Records those advisories that are not recorded yet, at most MAX_DELIVERIES_PER_EVENT of them. The caller must load
 * the new state and call this again until it returns no events.
 */
export const recordAdvisories =
  (epoch: string, advisories: readonly Advisory[]) =>
  ({ capture }: Acknowledgements): AcknowledgementEvent[] => {
    const unrecorded = advisories.filter(isRecordable).filter(isUnrecorded(epoch, capture)).slice(0, MAX_DELIVERIES_PER_EVENT);
    const last = unrecorded.at(-1);
    if (!last) return [];
    const known = capture?.epoch === epoch ? capture.at : undefined;
    const through: AdvisoryCursor = {
      epoch,
      sequence: last.sequence,
      at: unrecorded.map(({ at }) => at).reduce(laterTime, known ?? last.at),
    };
    const ofDeliveries = unrecorded.filter(({ session_id }) => session_id === undefined);
    const entriesOf = (wanted: Advisory['outcome']): SettledDelivery[] =>
      ofDeliveries.filter(({ outcome }) => outcome === wanted).map(settledOf);
    const [failures, deliveries, messages] = [entriesOf('failed'), entriesOf('acknowledged'), settledSessions(unrecorded)];
    // The event with failed attempts comes before the events with final outcomes, because readers of a message's
    // history stop at its final outcome.
    const events: AcknowledgementEvent[] = [];
    if (failures.length > 0) events.push({ type: 'DeliveryAttemptFailed', data: { failures, capture: through } });
    if (deliveries.length > 0) events.push({ type: 'DeliveriesAcknowledged', data: { deliveries, capture: through } });
    if (messages.length > 0) events.push({ type: 'SessionMessagesSettled', data: { messages, capture: through } });
    for (const advisory of ofDeliveries) {
      if (advisory.outcome === 'acknowledged' || advisory.outcome === 'failed') continue;
      events.push({ type: 'DeliveryDeadLettered', data: { ...settledOf(advisory), reason: advisory.outcome, capture: through } });
    }
    return events;
  };
