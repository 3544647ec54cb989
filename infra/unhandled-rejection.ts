import { Refusal } from '../domain/refusal.ts';

const UNAVAILABLE = ['unavailable', 'not_caught_up'];

/** Returns whether an error means that the event store, Postgres or NATS is unavailable. */
export const isOutage = async (error: unknown): Promise<boolean> => {
  if (!(error instanceof Error)) return false;
  // Postgres is down, or does not answer in time.
  if (error instanceof Refusal) return UNAVAILABLE.includes(error.code);
  // Loaded only when needed, so that commands start fast.
  const [{ classify }, postgres, nats] = await Promise.all([
    import('./eventstore/errors.ts'),
    import('./postgres/pool.ts'),
    import('./nats/jetstream-errors.ts'),
  ]);
  return nats.isBrokerUnavailable(error) || postgres.isUnavailable(error) || classify(error).kind === 'unavailable';
};

const throwUncaught = (error: unknown): void => {
  setImmediate(() => {
    throw error;
  });
};

/**
 * Keeps this process running if a service is unavailable and a promise is rejected for which no code waits, in a
 * library or in this program. `report` is called with a line for the log. Any other such rejection is a bug; it ends
 * the process, as it does by default in Node.
 */
export const surviveOutages = (report: (line: string) => void): void => {
  process.on('unhandledRejection', (error) => {
    isOutage(error).then((isExpected) => {
      if (isExpected) report(`a service is unavailable, and a background task failed: ${(error as Error).message}`);
      else throwUncaught(error);
    }, throwUncaught);
  });
};
