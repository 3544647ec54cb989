import { LogError } from './event-log.ts';

/**
 * Rejects after `ms` if `work` has not settled. The client sets no timer on batch appends and reads, so one that the
 * server never answers would never settle.
 * @throws LogError unavailable
 */
export const withDeadline = <T>(ms: number, work: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new LogError('unavailable', `the event store did not answer within ${ms} ms`)), ms);
  });
  work.catch(() => {});
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
};
