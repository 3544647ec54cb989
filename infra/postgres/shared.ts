type Waiting<T> = { readonly ask: () => Promise<T>; readonly answer: PromiseWithResolvers<T> };

/**
 * Asks at most `most` questions at a time. Whoever comes with a question that is waiting for its turn shares its answer: it is asked after
 * they came, so it is as fresh as one of their own. `key` says which questions are the same.
 */
export const shared = <T>(most: number): ((key: string, ask: () => Promise<T>) => Promise<T>) => {
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
    if (waiting.size === 0) setImmediate(next);
    waiting.set(key, { ask, answer });
    return answer.promise;
  };
};
