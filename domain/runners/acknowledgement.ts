import type { Recorded } from '../event.ts';
import { omit } from '../omit.ts';

export const category = 'acknowledgement';

/**
 * `event_id`: the message; `attempts`: how often the broker sent it; `published_at`: when the broker stored it, absent in old events.
 * `occurrence_id`: only for cron jobs.
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
 * The last recorded advisory (the broker's notice about one message), by its number in the JetStream stream of advisories. `epoch` differs
 * if that stream is created again. The latest time `at` (absent in old events) identifies new advisories if numbers restart because the
 * broker was killed while it deleted messages.
 */
export type AdvisoryCursor = { epoch: string; sequence: number; at?: string };

/** Ended with the runner's negative acknowledgement; `attempts` is its number. The broker sends the message again or gives it up. */
export type FailedAttempt = SettledDelivery;

/** Acknowledged by a runner, or given up by the broker. */
export type Outcome = 'acknowledged' | 'max_deliveries' | 'terminated';

/** Acknowledged or given up, so that the session's next message can be processed. */
export type SettledSessionMessage = { session_id: string; event_id: string; at: string; attempts: number; outcome: Outcome };

/** One stream per agent: `acknowledgement-<tenant>.<agent>`. */
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

/** Keeps only this message's entries; null if there are none. `at` becomes the time of the acknowledgement, failure or giving up. */
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
 * A broker's report about one message. `sequence`: its number in the stream of advisories. `session_id`: only for a session's message,
 * whose `delivery_id` is empty.
 */
export type Advisory = SettledDelivery & { sequence: number; outcome: Outcome | 'failed'; session_id?: string };

/** With more deliveries, the event would not fit into one append of at most 1,000,000 bytes. */
export const MAX_DELIVERIES_PER_EVENT = 4_000;

const settledOf = (advisory: Advisory): SettledDelivery => omit(advisory, 'sequence', 'outcome');

/** A higher number than the last recorded one, or a later time than all recorded ones (the numbers have then restarted). */
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

/** RFC 3339 UTC with milliseconds. */
const laterTime = (a: string | undefined, b: string): string => (a !== undefined && a > b ? a : b);

/** Settles a message of a session whose acknowledgement was lost. Does nothing while no acknowledgement of the agent is recorded. */
export const settleMessage =
  (message: SettledSessionMessage) =>
  ({ capture }: Acknowledgements): AcknowledgementEvent[] =>
    capture ? [{ type: 'SessionMessagesSettled', data: { messages: [message], capture } }] : [];

/** At most MAX_DELIVERIES_PER_EVENT: the caller must load the new state and call this again until it returns no events. */
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
