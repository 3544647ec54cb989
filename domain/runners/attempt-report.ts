import type { Recorded } from '../event.ts';

export const category = 'attemptreport';

/**
 * `failed`: the handler reported an error; `timed_out`: exceeded its time limit; `crashed`: killed, or not reachable; `released`: given
 * back, to be processed later.
 */
export const ATTEMPT_OUTCOMES = ['failed', 'timed_out', 'crashed', 'released'] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

/**
 * `message_id`: absent for the first message of a delivery. `outcome`: absent if `failed`, to save space. `sealed`: the encrypted texts;
 * instead, `same_as` is the number of an earlier attempt with equal ones. `problem`: equal for codes and reasons that differ only in
 * numbers and ids; absent in old events, and with `same_as` if it is that of the other attempt.
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

/** One stream per agent: `attemptreport-<tenant>.<agent>`. */
export type AttemptReportEvent = { type: 'DeliveryAttemptsReported'; data: { reports: readonly AttemptReport[] } };

/** Decisions need no state: see `createAttemptRecorder`. */
export type AttemptReports = Readonly<Record<never, never>>;

export const initial: AttemptReports = {};

export const evolve = (state: AttemptReports, _: Recorded<AttemptReportEvent>): AttemptReports => state;

export const attemptKey = ({ delivery_id, message_id, attempt }: Pick<AttemptReport, 'delivery_id' | 'message_id' | 'attempt'>): string =>
  `${delivery_id}/${message_id ?? ''}/${attempt}`;

/** Keeps only the reports of one message; null if there are none. */
export const eventForMessage = (
  event: Recorded<AttemptReportEvent>,
  message: Pick<AttemptReport, 'delivery_id' | 'message_id'>,
): Recorded<AttemptReportEvent> | null => {
  const reports = event.data.reports.filter(
    ({ delivery_id, message_id }) => delivery_id === message.delivery_id && message_id === message.message_id,
  );
  return reports.length > 0 ? { ...event, data: { reports } } : null;
};
