import { availableParallelism, cpus } from 'node:os';

const IDLE_CHECK_INTERVAL_MS = 500;
/** An additional job starts only if at least this share of the processors' time was idle since the last check. */
const MIN_IDLE_SHARE = 0.2;

/** Returns the idle and the total processor time of this machine since it started, in milliseconds. */
const processorTimes = (): { idle: number; total: number } => {
  const times = cpus().map((cpu) => cpu.times);
  return {
    idle: times.reduce((sum, { idle }) => sum + idle, 0),
    total: times.reduce((sum, each) => sum + each.user + each.nice + each.sys + each.idle + each.irq, 0),
  };
};

/**
 * Returns a function that returns the share (0 to 1) of the processors' time that was idle since the function was last
 * called.
 */
const idleShareMeter = (): (() => number) => {
  let last = processorTimes();
  return () => {
    const now = processorTimes();
    const [idle, total] = [now.idle - last.idle, now.total - last.total];
    last = now;
    return total > 0 ? idle / total : 0;
  };
};

/**
 * Starts the jobs in their order. As many jobs run at once as there are processors, but at least two. If the processors
 * are idle because jobs wait for something, up to twice as many jobs run. Resolves when all jobs have finished. @throws
 * the error that a job throws
 */
export const runInOrder = (jobs: readonly (() => Promise<void>)[]): Promise<void> => {
  const waiting = [...jobs];
  const usual = Math.max(2, availableParallelism());
  const idleShare = idleShareMeter();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let running = 0;
  const startNext = (): void => {
    const job = waiting.shift();
    if (!job) return;
    running++;
    job().then(onFinished, reject);
  };
  const fill = (): void => {
    while (running < usual && waiting.length > 0) startNext();
    if (running === 0) resolve();
  };
  const onFinished = (): void => {
    running--;
    fill();
  };
  const idleCheck = setInterval(() => {
    if (idleShare() >= MIN_IDLE_SHARE && running < 2 * usual) startNext();
  }, IDLE_CHECK_INTERVAL_MS);
  fill();
  return promise.finally(() => clearInterval(idleCheck));
};
