import { isId25 } from '../id.ts';

/** The JetStream stream with results of benchmark tasks, until they are recorded in the log. */
export const SCORE_STREAM = 'AGENTS_SCORES';

/** In bytes, for a message with a result. By default, a broker accepts up to 1 MiB. */
export const MAX_REPORT_BYTES = 1_000_000;
/** A result with its headers. */
export const MAX_PUBLISHED_BYTES = MAX_REPORT_BYTES + 4_096;

/** The NATS subject for results of benchmark tasks. */
export const scoreSubject = (tenant: string, agent: string): string => `scores.${tenant}.${agent}`;

/** Null if the subject belongs to no agent. */
export const reporterOf = (subject: string): { readonly tenant: string; readonly agent: string } | null => {
  const [first, tenant = '', agent = '', ...rest] = subject.split('.');
  return first === 'scores' && rest.length === 0 && isId25(tenant) && isId25(agent) ? { tenant, agent } : null;
};
