import { Refusal } from '../../domain/refusal.ts';

/** Returns whether an error means that a service is unavailable, so that a retry can succeed. */
export const isTransient = (error: unknown): boolean => error instanceof Refusal && error.code === 'unavailable';

/**
 * Reports when a service becomes unavailable, and when it is available again. Each change is reported with one line.
 */
export type OutageReport = {
  readonly lost: (reason: string) => void;
  readonly regained: () => void;
  /**
   * Runs `work`, which needs the service. If it fails because the service is unavailable, or succeeds after that, this
   * is reported.
   * @throws the errors of `work`
   */
  readonly watch: <T>(work: () => Promise<T>) => Promise<T>;
};

/** `regainedLine` is the line that is reported when the service is available again. */
export const createOutageReport = (report: (line: string) => void, regainedLine: string): OutageReport => {
  let isLost = false;
  const lost = (reason: string): void => {
    if (!isLost) report(`${reason}; trying again`);
    isLost = true;
  };
  const regained = (): void => {
    if (isLost) report(regainedLine);
    isLost = false;
  };
  return {
    lost,
    regained,
    watch: async (work) => {
      try {
        const result = await work();
        regained();
        return result;
      } catch (error) {
        if (isTransient(error)) lost((error as Error).message);
        throw error;
      }
    },
  };
};
