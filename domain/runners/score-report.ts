import { isId25 } from '../id.ts';

/** The JetStream stream that holds the results of benchmark tasks until they are recorded in the log. */
export const SCORE_STREAM = 'AGENTS_SCORES';

/** The largest message with a result, in bytes. A broker of the usual configuration accepts payloads of 1 MiB. */
export const MAX_REPORT_BYTES = 1_000_000;

/** Returns the NATS subject to which the runners of an agent publish the results of benchmark tasks. */
export const scoreSubject = (tenant: string, agent: string): string => `scores.${tenant}.${agent}`;

/**
 * Returns the tenant and the agent of the runner that published a result to this subject; null if it is not the subject
 * of an agent.
 */
export const reporterOf = (subject: string): { readonly tenant: string; readonly agent: string } | null => {
  const [first, tenant = '', agent = '', ...rest] = subject.split('.');
  return first === 'scores' && rest.length === 0 && isId25(tenant) && isId25(agent) ? { tenant, agent } : null;
};
