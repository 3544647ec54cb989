import { LogError } from './event-log.ts';

/** The client sets no timer of its own on a batch append, or on a read: one that is never answered would never settle. @throws LogError unavailable */
export const withDeadline = <T>(ms: number, work: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new LogError('unavailable', `no answer within ${ms} ms`)), ms);
  });
  work.catch(() => {});
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
};
