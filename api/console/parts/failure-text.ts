import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { type Child, tags } from './tags.ts';
import { duration } from './time.ts';

const { details, pre, span, summary } = tags;

type Detail = ReplyOf<Rows['getDelivery']>;
type Attempt = Detail['attempts'][number];
type LastFailure = NonNullable<Detail['last_failure']>;

const OUTCOMES: Readonly<Record<LastFailure['outcome'], string>> = {
  failed: 'failed',
  timed_out: 'timed out',
  crashed: 'crashed',
  released: 'given back',
};

/** Says why an attempt failed: its outcome with its code, and the reason. Without a report, says so. */
export const failureText = (failure: Pick<LastFailure, 'outcome' | 'code' | 'reason'> | null): string => {
  if (failure === null) return 'no report';
  const { outcome, code, reason } = failure;
  return `${OUTCOMES[outcome]}${code === null ? '' : ` (${code})`}: ${reason ?? 'the reason cannot be read'}`;
};

/** Renders which attempt it was and, unless it succeeded, why it failed, with the end of standard error. */
export const attemptText = ({ count, outcome, report }: Attempt): Child => {
  if (outcome === 'acknowledged') return `Attempt ${count}`;
  if (report === null) return `Attempt ${count} · no report`;
  return span(
    { 'data-report': report.outcome },
    `Attempt ${count} · ${failureText(report)} · after ${duration(report.seconds * 1_000)}`,
    report.stderr_tail === null ? null : details(null, summary(null, 'End of the output'), pre(null, report.stderr_tail)),
  );
};
