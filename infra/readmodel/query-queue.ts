type Waiting<T> = { readonly ask: () => Promise<T>; readonly answer: PromiseWithResolvers<T> };
export type LateError = { readonly ms: number; readonly error: () => Error };

/**
 * Asks at most `most` questions at a time. Whoever comes with a question that is waiting for its turn shares its answer: it is asked after
 * they came, so it is as fresh as one of their own. `key` says which questions are the same. One that had to wait for its turn and has no
 * answer `late.ms` after it came fails with `late.error`; who is asked at once is answered when whoever is asked gives up.
 */
export const coalesce = <T>(most: number, late: LateError): ((key: string, ask: () => Promise<T>) => Promise<T>) => {
  const waiting = new Map<string, Waiting<T>>();
  let asked = 0;

  const next = (): void => {
    for (const [key, { ask, answer }] of waiting) {
      if (asked >= most) return;
      waiting.delete(key);
      asked++;
      ask()
        .then(answer.resolve, answer.reject)
        .finally(() => {
          asked--;
          next();
        });
    }
  };

  return (key, ask) => {
    const same = waiting.get(key);
    if (same) return same.answer.promise;
    const answer = Promise.withResolvers<T>();
    const mine = { ask, answer };
    const atOnce = waiting.size === 0 && asked < most;
    if (waiting.size === 0) setImmediate(next);
    waiting.set(key, mine);
    if (atOnce) return answer.promise;
    const timer = setTimeout(() => {
      if (waiting.get(key) === mine) waiting.delete(key);
      answer.reject(late.error());
    }, late.ms);
    return answer.promise.finally(() => clearTimeout(timer));
  };
};
