/** Returns the result of some work; an error if the work fails, or if it takes longer than this time in milliseconds. */
export const withinTime = <T>(work: Promise<T>, ms: number): Promise<T | Error> => {
  const late = new Promise<Error>((resolve) => {
    setTimeout(() => resolve(new Error(`no answer within ${ms / 1_000} s`)), ms).unref();
  });
  return Promise.race([work.catch((error) => (error instanceof Error ? error : new Error(String(error)))), late]);
};
