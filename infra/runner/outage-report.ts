import { isUnavailable } from '../../domain/refusal.ts';

/** Reports each change of a service's availability with one line. */
export type OutageReport = {
  readonly lost: (reason: string) => void;
  readonly regained: () => void;
  /** Reports if `work` fails because the service is unavailable, or succeeds after that. @throws the errors of `work` */
  readonly watch: <T>(work: () => Promise<T>) => Promise<T>;
};

/** `regainedLine` is reported when the service is available again. */
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
        if (isUnavailable(error)) lost((error as Error).message);
        throw error;
      }
    },
  };
};
