import { isId25 } from '../id.ts';

/** The name of the JetStream stream that contains the results of benchmark tasks until they are recorded in the log. */
export const SCORE_STREAM = 'AGENTS_SCORES';

/**
 * The maximum size of a message with a result, in bytes. With its usual configuration, a broker accepts payloads of up
 * to 1 MiB.
 */
export const MAX_REPORT_BYTES = 1_000_000;
/** The maximum size of anything that a runner publishes: a result with its headers. */
export const MAX_PUBLISHED_BYTES = MAX_REPORT_BYTES + 4_096;

/** Returns the NATS subject to which the runners of an agent publish the results of benchmark tasks. */
export const scoreSubject = (tenant: string, agent: string): string => `scores.${tenant}.${agent}`;

/**
 * Returns the tenant and the agent whose runner published a result to this subject; null if the subject belongs to no
 * agent.
 */
export const reporterOf = (subject: string): { readonly tenant: string; readonly agent: string } | null => {
  const [first, tenant = '', agent = '', ...rest] = subject.split('.');
  return first === 'scores' && rest.length === 0 && isId25(tenant) && isId25(agent) ? { tenant, agent } : null;
};
