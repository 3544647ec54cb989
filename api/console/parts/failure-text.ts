import type { Rows } from '../../areas.ts';
import type { ReplyOf } from '../../http/ask.ts';

type Detail = ReplyOf<Rows['getDelivery']>;
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
