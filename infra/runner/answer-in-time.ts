import { setTimeout as sleep } from 'node:timers/promises';

type Limits<T> = {
  readonly ms: number;
  /** The result if there is no answer in time. Called only then. */
  readonly otherwise: () => T;
  /** Ends the wait early. */
  readonly ending?: AbortSignal;
};

/** Waits for an answer only for a limited time. The work on it continues. @throws the errors of `answer` until then */
export const answerInTime = async <T>(answer: Promise<T>, { ms, otherwise, ending }: Limits<T>): Promise<T> => {
  const answered = new AbortController();
  const signal = ending ? AbortSignal.any([answered.signal, ending]) : answered.signal;
  const late = sleep(ms, null, { signal }).catch(() => null);
  const first = await Promise.race([answer.then((value) => ({ value })), late]).finally(() => answered.abort());
  return first ? first.value : otherwise();
};
