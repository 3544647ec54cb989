/** A calculation lets other requests run after this time, in milliseconds. */
const SLICE_MS = 10;

/** Runs a calculation in slices. Calls `afterSlice` after each but the last one, with the present `performance.now()`. */
export const inSlices = async <T>(steps: Generator<void, T>, afterSlice: (now: number) => void = () => {}): Promise<T> => {
  for (let sliceEndsAt = performance.now() + SLICE_MS; ; ) {
    const { done, value } = steps.next();
    if (done) return value;
    const now = performance.now();
    if (now < sliceEndsAt) continue;
    afterSlice(now);
    await new Promise((resolve) => setImmediate(resolve));
    sliceEndsAt = performance.now() + SLICE_MS;
  }
};
