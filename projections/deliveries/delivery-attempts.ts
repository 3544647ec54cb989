import { z } from 'zod';
import { Timestamp } from '../../domain/fields.ts';
import type { FailedAttempt } from '../../domain/runners/acknowledgement.ts';
import { Report, type StoredReport } from './delivery-reports.ts';

/** One attempt to hand a message to a runner. */
export const Attempt = z.object({
  event_id: z
    .string()
    .meta({ description: 'The id of the message: of the event that it carries', examples: ['6f9619ff-8b86-4d01-b42d-00cf4fc964ff'] }),
  at: Timestamp.nullable().meta({ description: 'When it ended; null if it `expired`, because the broker does not report that time' }),
  outcome: z.enum(['acknowledged', 'failed', 'expired', 'max_deliveries', 'terminated']).meta({
    description:
      '`acknowledged`: processed by the runner; `failed`: refused by the runner; `expired`: no answer of the runner is known; `max_deliveries`: the last attempt, after which the message was given up; `terminated`: given up by the runner',
  }),
  count: z.int().meta({ description: 'Which attempt of this message it was, beginning with 1', examples: [1] }),
  report: Report.nullable()
    .default(null)
    .meta({ description: 'Why it failed, as the runner has reported it; null without a report. The last ten reports are shown' }),
});
export type Attempt = z.output<typeof Attempt>;
type AttemptEnd = Omit<Attempt, 'report'>;

/** An attempt that ended a message, in the form in which it is stored. `published_at` is when the message was published. */
export const StoredAttempt = Attempt.extend({ published_at: Timestamp.nullable().default(null) });

/** A failed attempt in the form in which it is stored. `event_id` identifies the attempt within the delivery. */
export const StoredFailure = z.object({ event_id: z.string(), message_id: z.string(), at: Timestamp, count: z.int() });
type StoredFailure = z.output<typeof StoredFailure>;

export const storedFailure = ({ event_id, at, attempts }: FailedAttempt): StoredFailure => ({
  event_id: `${event_id}/${attempts}`,
  message_id: event_id,
  at,
  count: attempts,
});

/** Returns the attempts of one message in order. An attempt without a record has expired. */
const attemptsOfMessage = (event_id: string, known: readonly AttemptEnd[]): AttemptEnd[] => {
  const byCount = new Map(known.map((attempt) => [attempt.count, attempt]));
  return Array.from({ length: Math.max(...byCount.keys()) }, (_, index): AttemptEnd => {
    const count = index + 1;
    return byCount.get(count) ?? { event_id, at: null, outcome: 'expired', count };
  });
};

type Known = {
  readonly attempts: readonly AttemptEnd[];
  readonly failures: readonly StoredFailure[];
  readonly reports: readonly StoredReport[];
};

/**
 * Returns all attempts of a delivery, grouped by message. `attempts` are those that ended a message; each replaces the
 * stored failure of the same attempt. A reported attempt has failed even if the broker has not said so yet. `messages`
 * are the ids of the messages in order.
 */
export const allAttempts = ({ attempts, failures, reports }: Known, messages: readonly string[]): AttemptEnd[] => {
  const reported = reports.map(({ message_id, at, attempt }) => ({ message_id: message_id ?? messages[0]!, at, count: attempt }));
  const ended = attempts.map(({ event_id, at, outcome, count }): AttemptEnd => ({ event_id, at, outcome, count }));
  const failed = [...reported, ...failures].map(
    ({ message_id, at, count }): AttemptEnd => ({ event_id: message_id, at, outcome: 'failed', count }),
  );
  const byMessage = Map.groupBy([...failed, ...ended], ({ event_id }) => event_id);
  const known = messages.filter((id) => byMessage.has(id));
  const others = [...byMessage.keys()].filter((id) => !known.includes(id));
  return [...known, ...others].flatMap((id) => attemptsOfMessage(id, byMessage.get(id)!));
};
