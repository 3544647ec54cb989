import { availableParallelism, cpus } from 'node:os';

const IDLE_CHECK_INTERVAL_MS = 500;
/** A further job starts when at least this share of the machine's processor time was idle since the last check. */
const MIN_IDLE_SHARE = 0.2;

/** The processor time of this machine since its start, in milliseconds. */
const processorTimes = (): { idle: number; total: number } => {
  const times = cpus().map((cpu) => cpu.times);
  return {
    idle: times.reduce((sum, { idle }) => sum + idle, 0),
    total: times.reduce((sum, each) => sum + each.user + each.nice + each.sys + each.idle + each.irq, 0),
  };
};

/** Returns a function that returns the share of the processor time, from 0 to 1, that was idle since its last call. */
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
 * Starts the jobs in their order, at least two and as many at once as there are processors. While processors are idle
 * because jobs wait, up to twice as many run. Resolves when every job has finished. @throws what a job throws
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
