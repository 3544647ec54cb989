import { z } from 'zod';
import type { Recorded } from '../../domain/event.ts';
import { Timestamp } from '../../domain/fields.ts';
import { ATTEMPT_OUTCOMES, type AttemptReport } from '../../domain/runners/attempt-report.ts';
import type { ReportTexts, SealedTexts } from '../../domain/runners/report-texts.ts';

/** The number of reports of a delivery that responses show. */
export const MAX_SHOWN_REPORTS = 10;

/** The number of reports that a row of the table stores. It is higher than what is shown, because a report can refer to an earlier one. */
export const MAX_STORED_REPORTS = 2 * MAX_SHOWN_REPORTS;

const Outcome = z.enum(ATTEMPT_OUTCOMES).meta({
  description:
    '`failed`: the handler reported an error; `timed_out`: it exceeded its time limit; `crashed`: it was killed, or cannot be reached; `released`: the runner gave the event back, to process it later',
});
const Code = z
  .string()
  .nullable()
  .meta({ description: 'An exit code, a signal, an HTTP status or the code of an error; null if there is none', examples: ['1'] });
const Reason = z
  .string()
  .nullable()
  .meta({
    description: "Why it failed, after the tenant's redaction; null if the tenant's data key cannot be read",
    examples: ['the command ended with 1'],
  });

/** Why an attempt failed, as its runner has reported it. */
export const Report = z
  .object({
    outcome: Outcome,
    code: Code,
    reason: Reason,
    stderr_tail: z
      .string()
      .nullable()
      .meta({
        description:
          'The end of what the handler wrote to standard error, or the start of what it answered; null if there is nothing. It can be that of an earlier attempt with the same reason, if the texts differ only in times, ids of processes and long ids',
        examples: ['Error: the model does not answer\n'],
      }),
    seconds: z.number().meta({ description: 'How long the attempt took', examples: [1.25] }),
    at: Timestamp.meta({ description: 'When the report was recorded' }),
  })
  .meta({ id: 'AttemptReport' });
export type Report = z.output<typeof Report>;

/** The last failed attempt of a delivery, as a list shows it. */
export const LastFailure = z
  .object({
    attempt: z.int().meta({ description: 'Which attempt of its message it was, beginning with 1', examples: [1] }),
    outcome: Outcome,
    code: Code,
    reason: Reason,
    at: Timestamp.meta({ description: 'When the report was recorded' }),
  })
  .meta({ id: 'LastFailure' });
export type LastFailure = z.output<typeof LastFailure>;

const StoredTexts = z.object({ message_id: z.string().nullable(), attempt: z.int(), sealed: z.string() });

/**
 * A report in the form in which it is stored. `event_id` identifies the attempt within the delivery. `revision` is that
 * of its event in the stream of the agent.
 */
export const StoredReport = z.object({
  event_id: z.string(),
  message_id: z.string().nullable(),
  attempt: z.int(),
  outcome: Outcome,
  code: z.string().nullable(),
  seconds: z.number(),
  at: Timestamp,
  revision: z.int(),
  sealed: z.string().nullable(),
  same_as: z.int().nullable(),
  problem: z.string().nullable().default(null),
});
export type StoredReport = z.output<typeof StoredReport>;

const LastReport = StoredReport.pick({ attempt: true, outcome: true, code: true, at: true });

/** What a stored row has about the last report. `last_texts` are the texts of this report, or those to which it refers. */
export const storedLastReport = { last_report: LastReport.nullable().default(null), last_texts: StoredTexts.nullable().default(null) };
export type StoredLastReport = z.output<z.ZodObject<typeof storedLastReport>>;

/** What a row needs to know about the event of a report. */
export type ReportEvent = Pick<Recorded, 'tenant' | 'at' | 'revision'>;

export const storedReport = ({ message_id, attempt, ...report }: AttemptReport, { at, revision }: ReportEvent): StoredReport => ({
  event_id: `${message_id ?? ''}/${attempt}`,
  message_id: message_id ?? null,
  attempt,
  outcome: report.outcome ?? 'failed',
  code: report.code ?? null,
  seconds: report.seconds,
  at,
  revision,
  sealed: report.sealed ?? null,
  same_as: report.same_as ?? null,
  problem: report.problem ?? null,
});

/** Returns the report that has the texts of this one: itself, or an earlier one; null if it is not among `reports`. */
const baseOf = (report: StoredReport, reports: readonly StoredReport[]): StoredReport | null =>
  report.sealed !== null
    ? report
    : (reports.find(({ message_id, attempt }) => message_id === report.message_id && attempt === report.same_as) ?? null);

/** Returns the encrypted texts of a report, which can be those of an earlier one; null if they are not among `reports`. */
const textsOf = (report: StoredReport, reports: readonly StoredReport[]): SealedTexts | null => {
  const base = baseOf(report, reports);
  return base?.sealed ? { message_id: base.message_id, attempt: base.attempt, sealed: base.sealed } : null;
};

/** What a row has about its reports and about the messages of the delivery, in their order. */
export type ReportedRow = { readonly reports: readonly StoredReport[]; readonly causation: readonly { readonly event_id: string }[] };

/**
 * Returns the fields of a row for its last report: that of the last attempt of the last message. A report of an earlier
 * attempt can arrive later.
 */
export const lastReportFields = ({ reports, causation }: ReportedRow): StoredLastReport & { readonly problem: string | null } => {
  const placeOf = ({ message_id }: StoredReport): number => causation.findIndex(({ event_id }) => event_id === message_id);
  const [last] = reports.toSorted((one, other) => placeOf(other) - placeOf(one) || other.attempt - one.attempt);
  if (!last) return { last_report: null, last_texts: null, problem: null };
  const { attempt, outcome, code, at } = last;
  // A report that refers to the texts of another one has a problem only if it differs.
  const problem = last.problem ?? baseOf(last, reports)?.problem ?? null;
  return { last_report: { attempt, outcome, code, at }, last_texts: textsOf(last, reports), problem };
};

/** Decrypts the texts of a report of a delivery; null if they cannot be read. */
export type OpenTexts = (delivery_id: string, texts: SealedTexts) => Promise<ReportTexts | null>;

/** Returns the last failed attempt that a runner has reported, with its reason; null without a report. */
export const lastFailureOf = async (
  { id, last_report, last_texts }: StoredLastReport & { readonly id: string },
  open: OpenTexts,
): Promise<LastFailure | null> =>
  last_report ? { ...last_report, reason: (last_texts && (await open(id, last_texts))?.reason) ?? null } : null;

type Attempted = { readonly event_id: string; readonly count: number };

/** Adds the last ten reports to the attempts of a delivery. `first` is the id of the delivery's first message. */
export const withReports = async <T extends Attempted>(
  attempts: readonly T[],
  { id, first, reports }: { readonly id: string; readonly first: string; readonly reports: readonly StoredReport[] },
  open: OpenTexts,
): Promise<(T & { report: Report | null })[]> => {
  const opened = reports.slice(-MAX_SHOWN_REPORTS).map(async (stored) => {
    const texts = textsOf(stored, reports);
    const { reason = null, stderr_tail = null } = (texts && (await open(id, texts))) ?? {};
    const { message_id, attempt, outcome, code, seconds, at } = stored;
    return [`${message_id ?? first}/${attempt}`, { outcome, code, reason, stderr_tail, seconds, at }] as const;
  });
  const byAttempt = new Map(await Promise.all(opened));
  return attempts.map((attempt) => ({ ...attempt, report: byAttempt.get(`${attempt.event_id}/${attempt.count}`) ?? null }));
};

/** Returns the last attempt with a report as a list shows it; null without one. */
export const lastFailureIn = (attempts: readonly { readonly count: number; readonly report: Report | null }[]): LastFailure | null => {
  const last = attempts.findLast(({ report }) => report !== null);
  if (!last?.report) return null;
  const { outcome, code, reason, at } = last.report;
  return { attempt: last.count, outcome, code, reason, at };
};
