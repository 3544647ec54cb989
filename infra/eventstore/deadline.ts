import { LogError } from './event-log.ts';

/** The EventStoreDB client sets no timeout on batch appends and reads. @throws LogError unavailable after `ms` */
export const withDeadline = <T>(ms: number, work: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new LogError('unavailable', `the event store did not answer within ${ms} ms`)), ms);
  });
  work.catch(() => {});
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
};
