import type { Recorded } from '../event.ts';

export const category = 'attemptreport';

/**
 * How an attempt to process a delivery ended without success. `failed`: the handler reported an error. `timed_out`: it
 * exceeded its time limit. `crashed`: it was killed, or cannot be reached. `released`: the event was given back, to be
 * processed later.
 */
export const ATTEMPT_OUTCOMES = ['failed', 'timed_out', 'crashed', 'released'] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/**
 * Why an attempt failed, as the runner reports it. `message_id` is the id of the message of a redelivery; absent for the
 * first message of the delivery. `outcome` is absent if it is `failed`, so that many reports take little space. `sealed`
 * are the texts, encrypted. If they are those of an earlier attempt of the same message, `same_as` is the number of that
 * attempt instead. `problem` is the same for equal codes and reasons, apart from numbers and ids in these; absent in old
 * events, and with `same_as` if it is that of the other attempt.
 */
export type AttemptReport = {
  delivery_id: string;
  message_id?: string;
  attempt: number;
  outcome?: Exclude<AttemptOutcome, 'failed'>;
  code?: string;
  seconds: number;
  sealed?: string;
  same_as?: number;
  problem?: string;
};

/** Each agent has one stream of these events: `attemptreport-<tenant>.<agent>`. */
export type AttemptReportEvent = { type: 'DeliveryAttemptsReported'; data: { reports: readonly AttemptReport[] } };

/** Decisions need no state: see `createAttemptRecorder`. */
export type AttemptReports = Readonly<Record<never, never>>;

export const initial: AttemptReports = {};

export const evolve = (state: AttemptReports, _: Recorded<AttemptReportEvent>): AttemptReports => state;

export const attemptKey = ({ delivery_id, message_id, attempt }: Pick<AttemptReport, 'delivery_id' | 'message_id' | 'attempt'>): string =>
  `${delivery_id}/${message_id ?? ''}/${attempt}`;

/** Returns a copy of the event that contains only the reports of one message; null if there are none. */
export const eventForMessage = (
  event: Recorded<AttemptReportEvent>,
  message: Pick<AttemptReport, 'delivery_id' | 'message_id'>,
): Recorded<AttemptReportEvent> | null => {
  const reports = event.data.reports.filter(
    ({ delivery_id, message_id }) => delivery_id === message.delivery_id && message_id === message.message_id,
  );
  return reports.length > 0 ? { ...event, data: { reports } } : null;
};
