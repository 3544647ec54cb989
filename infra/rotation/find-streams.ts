import type { Recorded } from '../../domain/event.ts';
import type { Filter, Log } from '../eventstore/event-log.ts';

/** Finds streams with an event that the filter and `isWanted` select, ordered by the first such event. @throws LogError unavailable */
export const findStreams = async (log: Log, filter: Filter, isWanted = (_: Recorded): boolean => true): Promise<string[]> => {
  const streams = new Set<string>();
  const { promise: caughtUp, resolve } = Promise.withResolvers<null>();
  const subscription = log.follow({
    filter,
    event: (event) => void (isWanted(event) && streams.add(event.stream)),
    caughtUp: () => resolve(null),
  });
  const failure = await Promise.race([caughtUp, subscription.failure]);
  await subscription.stop();
  if (failure) throw failure;
  return [...streams];
};
